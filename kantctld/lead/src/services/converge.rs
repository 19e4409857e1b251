//! One step of a service towards what is wanted: which replicas to submit and to stop now. It
//! depends only on what is, so that a new leader goes on where the last one was.
//!
//! An update replaces replicas place by place. At most `max_surge` replicas run beyond the wanted
//! ones, at most `max_parallel` new ones are not healthy yet, and a ready replica of the old
//! revision is stopped only while enough others remain.
//!
//! Which replicas are ready is known from the reports of nodes, which a new leader does not have
//! yet. Until they are there, also those on other services in the table of routers, it stops no
//! replica that runs. Later, one on which there is no report, or whose node has been out of contact
//! for [`SILENCE_MAX`](super::readiness::SILENCE_MAX), is neither counted as ready nor stopped for
//! not being so.
//!
//! Replicas on nodes that an operator drained are stopped, as far as `max_parallel` may be missing;
//! their places are filled elsewhere.

mod gang;
mod role;
mod update;

use super::readiness::REPORTS_MAX;
use common::id::{JobKey, Ordinal, Revision, RoleName};
use common::job::Phase;
use common::service::{StopReason, UpdatePolicy};
use common::time::Time;
use role::Step;
use state::Command;
use state::service::{FAILURES_MAX, Service};

/// An unfinished replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaNow {
    pub key: JobKey,
    pub role: RoleName,
    pub ordinal: Ordinal,
    pub revision: Revision,
    pub phase: Phase,
    /// It ends, and waits for room again, because it was preempted or its node was lost.
    pub comes_back: bool,
    /// `None`: it does not run.
    pub running_at: Option<Time>,
    /// It runs on a node that an operator drained. One that drained itself by a health check keeps
    /// its replicas: a faulty check on all nodes at once would stop some of every service.
    pub must_leave: bool,
    /// `None`: it is not known to be ready.
    pub ready_since: Option<Time>,
    /// `None`: it is not known not to be ready.
    pub unready_since: Option<Time>,
}

impl ReplicaNow {
    const fn is_ending(&self) -> bool {
        match self.phase {
            Phase::Completing => !self.comes_back,
            Phase::Done => true,
            _ => false,
        }
    }

    pub(super) const fn is_ready(&self) -> bool {
        self.ready_since.is_some()
    }

    /// Whether it runs and may be ready, for all that is known.
    const fn is_unknown(&self) -> bool {
        self.running_at.is_some() && self.ready_since.is_none() && self.unready_since.is_none()
    }

    /// When it is healthy, if it stays ready.
    fn healthy_at(&self, update: &UpdatePolicy) -> Option<Time> {
        self.ready_since.map(|since| since + update.min_healthy)
    }

    fn is_healthy(&self, update: &UpdatePolicy, now: Time) -> bool {
        self.healthy_at(update).is_some_and(|at| at <= now)
    }
}

/// What is due.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    pub commands: Vec<Command>,
    /// When something is due next, even if nothing happens until then.
    pub look_at: Option<Time>,
}

impl Plan {
    pub(super) fn merge(&mut self, other: Self) {
        self.commands.extend(other.commands);
        other.look_at.into_iter().for_each(|at| self.look_again(at));
    }

    fn look_again(&mut self, at: Time) {
        self.look_at = Some(self.look_at.map_or(at, |before| before.min(at)));
    }
}

/// The reports that this leader has of nodes.
#[derive(Debug, Clone, Copy)]
pub struct Reports {
    /// Since when nodes report.
    pub since: Time,
    /// Routers get tables. Before, they go on with that of the last leader, so a replica that
    /// stopped would still get requests.
    pub has_routes: bool,
}

/// The next step of a service, from its unfinished replicas.
#[must_use]
pub fn converge(service: &Service, replicas: &[ReplicaNow], reports: Reports, now: Time) -> Plan {
    let mut plan = Plan::default();
    let Reports { since, has_routes } = reports;
    let reports_by = since + REPORTS_MAX;
    // An earlier revision may have had a port, so this one does not decide.
    let may_stop = has_routes;
    if service.is_stopping {
        match may_stop || replicas.is_empty() {
            true => stop_all(service, replicas, &mut plan),
            false => plan.look_again(reports_by),
        }
        return plan;
    }
    let Some(spec) = service.spec() else { return plan };
    let are_reported = may_stop && !replicas.iter().any(ReplicaNow::is_unknown);
    let is_known = now >= reports_by || are_reported;
    let is_held = gang::comes_first(service, spec, replicas, now, &mut plan);
    for role in &spec.roles {
        Step { service, spec, role, is_known, is_held, now }.plan_role(replicas, &mut plan);
    }
    if !is_known {
        plan.look_again(reports_by);
        return plan;
    }
    // Replicas of roles that this revision no longer has.
    let is_gone = |replica: &&ReplicaNow| spec.role(&replica.role).is_none();
    let may_go = !service.is_paused && service.update.is_none_or(|update| update.is_promoted);
    for replica in replicas.iter().filter(is_gone).filter(|one| may_go && !one.is_ending()) {
        plan.commands.push(stop(replica, StopReason::Replaced));
    }
    if let Some(update) = service.update {
        update::Judge { service, spec, update, since, now }.judge(replicas, &mut plan);
    }
    plan
}

fn stop_all(service: &Service, replicas: &[ReplicaNow], plan: &mut Plan) {
    let alive = replicas.iter().filter(|replica| !replica.is_ending());
    plan.commands.extend(alive.map(|replica| stop(replica, StopReason::ServiceStopped)));
    if replicas.is_empty() {
        plan.commands.push(Command::RemoveService { name: service.name.clone() });
    }
}

const fn stop(replica: &ReplicaNow, why: StopReason) -> Command {
    Command::StopReplica { key: replica.key, why }
}

/// Whether a replica is as the current revision specifies.
fn is_current(service: &Service, replica: &ReplicaNow) -> bool {
    service.is_current(replica.revision, &replica.role)
}

/// Whether a place may get a replica now, after failures and refusals.
fn may_start(
    service: &Service,
    role: &RoleName,
    ordinal: Ordinal,
    now: Time,
    plan: &mut Plan,
) -> bool {
    let failures = service.failures(role, ordinal);
    if failures.is_some_and(|failures| failures.in_a_row >= FAILURES_MAX) {
        return false;
    }
    let after = failures.map(|failures| failures.not_before);
    match after.max(service.submits_after).filter(|after| *after > now) {
        Some(after) => {
            plan.look_again(after);
            false
        }
        None => true,
    }
}

fn saturating_u32(replicas: usize) -> u32 {
    u32::try_from(replicas).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
