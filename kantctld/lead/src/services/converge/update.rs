//! The end of an update: all replicas are of the current revision and healthy, or a deadline has
//! passed, or a new replica fails again and again.

use super::{Plan, ReplicaNow, count, is_current};
use common::id::RoleName;
use common::service::{RoleSpec, ServiceSpec, UpdateFailure};
use common::time::{Span, Time};
use state::Command;
use state::service::{Service, Update};

/// The failures in a row of one replica after which an update has failed.
const UPDATE_FAILURES_MAX: u32 = 3;

/// Ends an update that is complete or has failed.
pub(super) fn judge(
    service: &Service,
    spec: &ServiceSpec,
    update: Update,
    replicas: &[ReplicaNow],
    now: Time,
    plan: &mut Plan,
) {
    let policy = &spec.update;
    let end = |failure| Command::EndUpdate {
        service: service.name.clone(),
        revision: service.current,
        failure,
    };
    let alive = || replicas.iter().filter(|replica| !replica.is_ending());
    let current = || alive().filter(|replica| is_current(service, replica));
    let healthy_of = |role: &RoleSpec| {
        let healthy = current().filter(|one| one.role == role.name && one.is_healthy(policy, now));
        count(healthy.count())
    };
    let is_old_gone = alive().all(|replica| is_current(service, replica));
    let is_full = spec.roles.iter().all(|role| healthy_of(role) >= service.wanted(&role.name));
    if is_old_gone && is_full {
        return plan.commands.push(end(None));
    }
    let soon = current().filter_map(|one| one.healthy_at(policy)).filter(|at| *at > now);
    soon.for_each(|at| plan.look_again(at));
    if service.is_paused {
        return;
    }
    let failed = service.failures.iter().find(|one| one.in_a_row >= UPDATE_FAILURES_MAX);
    if let Some(failed) = failed {
        let (role, ordinal, failures) = (failed.role.clone(), failed.ordinal, failed.in_a_row);
        let failure = UpdateFailure::ReplicaFailed { role, ordinal, failures };
        return plan.commands.push(end(Some(failure)));
    }
    for replica in current().filter(|one| one.ready_since.is_none()) {
        let Some(since) = replica.running_at else { continue };
        let deadline = policy.healthy_deadline + startup_max(spec, &replica.role);
        if now.since(since) >= deadline {
            let (role, ordinal) = (replica.role.clone(), replica.ordinal);
            let failure = UpdateFailure::NotHealthy { role, ordinal, deadline };
            return plan.commands.push(end(Some(failure)));
        }
        plan.look_again(since + deadline);
    }
    let canaries = |role: &RoleSpec| service.wanted(&role.name).min(policy.canary);
    let awaits_user =
        !update.is_promoted && spec.roles.iter().all(|role| healthy_of(role) >= canaries(role));
    // The first revision may wait for room for as long as any job.
    if awaits_user || service.healthy.is_none() {
        return;
    }
    let slowest = spec.roles.iter().map(|role| startup_max(spec, &role.name)).max();
    let deadline = policy.progress_deadline + slowest.unwrap_or_default();
    let last = current().filter_map(|one| one.healthy_at(policy)).filter(|at| *at <= now).max();
    let last = last.map_or(update.since, |last| last.max(update.since));
    if now.since(last) >= deadline {
        return plan.commands.push(end(Some(UpdateFailure::NoProgress { deadline })));
    }
    plan.look_again(last + deadline);
}

/// How long a replica of this role may take to start, if it has a startup probe.
fn startup_max(spec: &ServiceSpec, role: &RoleName) -> Span {
    let probes = spec.role(role).map(|role| &role.probes);
    let probes = probes.filter(|probes| probes.startup.is_some());
    probes.map_or(Span(0), |probes| probes.startup_max)
}
