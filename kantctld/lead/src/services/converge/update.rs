//! The end of an update: all replicas are of the current revision and healthy, or a deadline has
//! passed, or a new replica fails again and again.

use super::{Plan, ReplicaNow, is_current, saturating_u32};
use common::id::RoleName;
use common::service::{RoleSpec, ServiceSpec, UpdateFailure};
use common::time::{Span, Time};
use state::Command;
use state::service::{Service, Update};

/// The failures in a row of one replica after which an update has failed.
const UPDATE_FAILURES_MAX: u32 = 3;

/// The judge of an update in progress.
pub(super) struct Judge<'a> {
    pub(super) service: &'a Service,
    pub(super) spec: &'a ServiceSpec,
    pub(super) update: Update,
    /// Since when nodes report to this leader, which has seen nothing before.
    pub(super) since: Time,
    pub(super) now: Time,
}

impl Judge<'_> {
    /// Ends the update if it is complete or has failed.
    pub(super) fn judge(&self, replicas: &[ReplicaNow], plan: &mut Plan) {
        let alive: Vec<&ReplicaNow> = replicas.iter().filter(|one| !one.is_ending()).collect();
        let is_old_gone = alive.iter().all(|replica| is_current(self.service, replica));
        let current: Vec<&ReplicaNow> =
            alive.into_iter().filter(|replica| is_current(self.service, replica)).collect();
        let is_full = self
            .spec
            .roles
            .iter()
            .all(|role| self.healthy_of(&current, role) >= self.service.wanted(&role.name));
        if is_old_gone && is_full {
            return plan.commands.push(self.end_update_command(None));
        }
        let soon = current.iter().filter_map(|one| one.healthy_at(&self.spec.update));
        soon.filter(|at| *at > self.now).for_each(|at| plan.look_again(at));
        if self.service.is_paused {
            return;
        }
        let failure = self
            .failed_replica()
            .or_else(|| self.unhealthy_replica(&current, plan))
            .or_else(|| self.no_progress(&current, plan));
        plan.commands.extend(failure.map(|failure| self.end_update_command(Some(failure))));
    }

    fn end_update_command(&self, failure: Option<UpdateFailure>) -> Command {
        let (service, revision) = (self.service.name.clone(), self.service.current);
        Command::EndUpdate { service, revision, failure }
    }

    fn healthy_of(&self, current: &[&ReplicaNow], role: &RoleSpec) -> u32 {
        let own = current.iter().filter(|one| one.role == role.name);
        saturating_u32(own.filter(|one| one.is_healthy(&self.spec.update, self.now)).count())
    }

    fn failed_replica(&self) -> Option<UpdateFailure> {
        let failures = &self.service.failures;
        let failed = failures.iter().find(|one| one.in_a_row >= UPDATE_FAILURES_MAX)?;
        let (role, ordinal, failures) = (failed.role.clone(), failed.ordinal, failed.in_a_row);
        Some(UpdateFailure::ReplicaFailed { role, ordinal, failures })
    }

    /// A new replica that has not been ready for too long.
    fn unhealthy_replica(&self, current: &[&ReplicaNow], plan: &mut Plan) -> Option<UpdateFailure> {
        for replica in current {
            // One on which there is no report has the same time for it.
            let unknown = replica.running_at.filter(|_| replica.is_unknown());
            let unknown = unknown.map(|running_at| running_at.max(self.since));
            let Some(since) = replica.unready_since.or(unknown) else { continue };
            let startup_max = startup_max(self.spec, &replica.role);
            let deadline = self.spec.update.healthy_deadline + startup_max;
            if self.now.since(since) >= deadline {
                let (role, ordinal) = (replica.role.clone(), replica.ordinal);
                return Some(UpdateFailure::NotHealthy { role, ordinal, deadline });
            }
            plan.look_again(since + deadline);
        }
        None
    }

    fn no_progress(&self, current: &[&ReplicaNow], plan: &mut Plan) -> Option<UpdateFailure> {
        let (service, spec) = (self.service, self.spec);
        let canaries = |role: &RoleSpec| service.wanted(&role.name).min(spec.update.canary);
        let awaits_user = !self.update.is_promoted
            && spec.roles.iter().all(|role| self.healthy_of(current, role) >= canaries(role));
        // The first revision may wait for room for as long as any job.
        if awaits_user || service.healthy.is_none() {
            return None;
        }
        let slowest = spec.roles.iter().map(|role| startup_max(spec, &role.name)).max();
        let deadline = spec.update.progress_deadline + slowest.unwrap_or_default();
        let healthy_at = current.iter().filter_map(|one| one.healthy_at(&spec.update));
        let last = healthy_at.filter(|at| *at <= self.now).max();
        // A new leader has not seen which replica was the last to become healthy.
        let last = last.unwrap_or_default().max(self.update.since).max(self.since);
        if self.now.since(last) >= deadline {
            return Some(UpdateFailure::NoProgress { deadline });
        }
        plan.look_again(last + deadline);
        None
    }
}

/// How long a replica of this role may take to start, if it has a startup probe.
fn startup_max(spec: &ServiceSpec, role: &RoleName) -> Span {
    let probes = spec.role(role).map(|role| &role.probes);
    let probes = probes.filter(|probes| probes.startup.is_some());
    probes.map_or(Span(0), |probes| probes.startup_max)
}
