//! One step of a service towards what is wanted: which replicas to submit and to stop now. It
//! depends only on what is, so that a new leader goes on where the last one was.
//!
//! An update replaces replicas place by place. At most `max_surge` replicas run beyond the wanted
//! ones, at most `max_parallel` new ones are not healthy yet, and a healthy replica of the old
//! revision is stopped only while enough healthy ones remain.

mod update;

use common::id::{JobKey, Ordinal, Revision, RoleName};
use common::job::Phase;
use common::service::{RoleSpec, ServiceSpec, StopReason, UpdatePolicy};
use common::time::Time;
use state::Command;
use state::service::{FAILURES_MAX, Service};
use std::collections::BTreeSet;

/// The most replicas that one step submits or stops for a role; the next step goes on.
const AT_ONCE: usize = 64;

/// An unfinished replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaNow {
    pub key: JobKey,
    pub role: RoleName,
    pub ordinal: Ordinal,
    pub revision: Revision,
    pub phase: Phase,
    /// `None`: it does not run.
    pub running_at: Option<Time>,
    /// `None`: it is not ready.
    pub ready_since: Option<Time>,
}

impl ReplicaNow {
    const fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Completing | Phase::Done)
    }

    pub(super) const fn is_ready(&self) -> bool {
        self.ready_since.is_some()
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

/// The next step of a service, from its unfinished replicas.
#[must_use]
pub fn converge(service: &Service, replicas: &[ReplicaNow], now: Time) -> Plan {
    let mut plan = Plan::default();
    if service.is_stopping {
        stop_all(service, replicas, &mut plan);
        return plan;
    }
    let Some(spec) = service.spec() else { return plan };
    for role in &spec.roles {
        Step { service, spec, role, now }.run(replicas, &mut plan);
    }
    // Replicas of roles that this revision no longer has.
    let is_gone = |replica: &&ReplicaNow| spec.role(&replica.role).is_none();
    let may_go = !service.is_paused && service.update.is_none_or(|update| update.is_promoted);
    for replica in replicas.iter().filter(is_gone).filter(|one| may_go && !one.is_ending()) {
        plan.commands.push(stop(replica, StopReason::Replaced));
    }
    if let Some(update) = service.update {
        update::judge(service, spec, update, replicas, now, &mut plan);
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

/// The step of one role.
struct Step<'a> {
    service: &'a Service,
    spec: &'a ServiceSpec,
    role: &'a RoleSpec,
    now: Time,
}

impl Step<'_> {
    fn run(&self, replicas: &[ReplicaNow], plan: &mut Plan) {
        let own = || replicas.iter().filter(|replica| replica.role == self.role.name);
        let alive = || own().filter(|replica| !replica.is_ending());
        let is_current = |replica: &&ReplicaNow| is_current(self.service, replica);
        let current: Vec<&ReplicaNow> = alive().filter(is_current).collect();
        let old: Vec<&ReplicaNow> = alive().filter(|one| !is_current(one)).collect();
        let taken = own().filter(is_current).map(|replica| replica.ordinal).collect();
        self.scale_down(&current, plan);
        self.start(&current, &old, &taken, plan);
        self.replace(&current, &old, plan);
    }

    fn wanted(&self) -> u32 {
        self.service.wanted(&self.role.name)
    }

    /// Whether only canaries of the current revision may start.
    fn is_canary_only(&self) -> bool {
        self.service.update.is_some_and(|update| !update.is_promoted)
    }

    fn is_healthy(&self, replica: &ReplicaNow) -> bool {
        replica.is_healthy(&self.spec.update, self.now)
    }

    /// The places of the current revision that should be taken.
    fn places(&self, old: &[&ReplicaNow]) -> u32 {
        let (wanted, old) = (self.wanted(), count(old.len()));
        if self.is_canary_only() {
            wanted.min(self.spec.update.canary)
        } else if self.service.is_paused {
            wanted.saturating_sub(old)
        } else {
            wanted
        }
    }

    /// Stops replicas beyond the wanted number.
    fn scale_down(&self, current: &[&ReplicaNow], plan: &mut Plan) {
        let wanted = self.wanted();
        let beyond = current.iter().filter(|replica| replica.ordinal.0 >= wanted);
        plan.commands.extend(beyond.map(|replica| stop(replica, StopReason::ScaledDown)));
    }

    fn start(
        &self,
        current: &[&ReplicaNow],
        old: &[&ReplicaNow],
        taken: &BTreeSet<Ordinal>,
        plan: &mut Plan,
    ) {
        let update = &self.spec.update;
        let mut room = AT_ONCE;
        if !old.is_empty() && !self.service.is_paused {
            // In addition to the wanted ones.
            let extra = if self.is_canary_only() { update.canary } else { update.max_surge };
            let most = self.wanted().saturating_add(extra) as usize;
            let unhealthy = current.iter().filter(|one| !self.is_healthy(one)).count();
            let parallel = update.max_parallel.max(extra) as usize;
            room = most
                .saturating_sub(current.len() + old.len())
                .min(parallel.saturating_sub(unhealthy));
        }
        let missing = (0..self.places(old)).map(Ordinal).filter(|place| !taken.contains(place));
        for ordinal in missing {
            if room == 0 {
                return;
            }
            if self.may_start(ordinal, plan) {
                room -= 1;
                plan.commands.push(Command::StartReplica {
                    service: self.service.name.clone(),
                    role: self.role.name.clone(),
                    revision: self.service.current,
                    ordinal,
                });
            }
        }
    }

    /// Whether a place may get a replica now, after failures and refusals.
    fn may_start(&self, ordinal: Ordinal, plan: &mut Plan) -> bool {
        let failures = self.service.failures(&self.role.name, ordinal);
        if failures.is_some_and(|failures| failures.in_a_row >= FAILURES_MAX) {
            return false;
        }
        let after = failures.map(|failures| failures.not_before);
        match after.max(self.service.submits_after).filter(|after| *after > self.now) {
            Some(after) => {
                plan.look_again(after);
                false
            }
            None => true,
        }
    }

    /// Stops replicas of old revisions, as far as enough healthy ones remain.
    fn replace(&self, current: &[&ReplicaNow], old: &[&ReplicaNow], plan: &mut Plan) {
        if self.service.is_paused || self.is_canary_only() {
            return;
        }
        let kept = self.wanted().saturating_sub(self.spec.update.missing_max()) as usize;
        let all = || current.iter().chain(old);
        let mut healthy = all().filter(|one| self.is_healthy(one)).count();
        let mut candidates = old.to_vec();
        candidates.sort_by_key(|one| (self.is_healthy(one), std::cmp::Reverse(one.ordinal)));
        for replica in candidates.into_iter().take(AT_ONCE) {
            if self.is_healthy(replica) {
                if healthy <= kept {
                    break;
                }
                healthy -= 1;
            }
            plan.commands.push(stop(replica, StopReason::Replaced));
        }
        let soon = all().filter_map(|one| one.healthy_at(&self.spec.update));
        soon.filter(|at| *at > self.now).for_each(|at| plan.look_again(at));
    }
}

fn count(replicas: usize) -> u32 {
    u32::try_from(replicas).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
