//! The base of a service whose first `min` replicas of each role start together (`base = "gang"`).
//! They do so whenever none of them is there; as long as one waits, starts or runs, each missing
//! one starts by itself. If none of them has run yet when another revision replaces them, all of
//! them go first.

use super::{Plan, ReplicaNow, is_current, may_start};
use common::id::{Ordinal, RoleName};
use common::job::Phase;
use common::service::ServiceSpec;
use common::time::Time;
use state::service::Service;
use state::{Command, ReplicaPlace};

/// Submits the base if it is missing, and returns whether nothing else may start for now.
pub(super) fn comes_first(
    service: &Service,
    spec: &ServiceSpec,
    replicas: &[ReplicaNow],
    now: Time,
    plan: &mut Plan,
) -> bool {
    // Canaries are fewer than the base, and start one by one.
    let is_whole = service.update.is_none_or(|update| update.is_promoted);
    if spec.gang().next().is_none() || !is_whole {
        return false;
    }
    let is_base = |one: &&ReplicaNow| {
        spec.role(&one.role).is_some_and(|role| one.ordinal.0 < role.replicas.min)
    };
    let base: Vec<&ReplicaNow> = replicas.iter().filter(is_base).collect();
    if base.is_empty() {
        start(service, spec, now, plan);
        return true;
    }
    // Those that still end hold nodes, which the base may need.
    let mut left = base.iter().filter(|one| !one.is_ending());
    let begins = |one: &&&ReplicaNow| matches!(one.phase, Phase::Pending | Phase::Starting);
    let have_begun = left.clone().any(|one| !begins(&one));
    !have_begun && (left.clone().next().is_none() || left.any(|one| !is_current(service, one)))
}

/// Submits the base, once each of its places may get a replica.
fn start(service: &Service, spec: &ServiceSpec, now: Time, plan: &mut Plan) {
    let places = || spec.gang().map(|(role, ordinal)| (&role.name, ordinal));
    if !places().all(|(role, ordinal)| may_start(service, role, ordinal, now, plan)) {
        return;
    }
    let place =
        |(role, ordinal): (&RoleName, Ordinal)| ReplicaPlace { role: role.clone(), ordinal };
    plan.commands.push(Command::StartReplicas {
        service: service.name.clone(),
        revision: service.current,
        places: places().map(place).collect(),
    });
}
