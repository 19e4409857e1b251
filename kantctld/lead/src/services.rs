//! Services: which replicas to submit and to stop, so that each service comes nearer to what its
//! users want. Nothing is remembered but what nodes report of their replicas, and nodes report that
//! again to every new leader.

mod autoscaler;
mod converge;
mod endpoints;
mod explain;
mod readiness;
mod routes;
mod view;

pub use autoscaler::{Autoscaler, DECIDE_EVERY};
pub use converge::{Plan, ReplicaNow, Reports, converge};
pub use endpoints::{EndpointNow, endpoints};
pub use explain::explain;
pub use readiness::{REPORTS_MAX, Readiness, Reported, SILENCE_MAX};
pub use routes::routes;
pub use view::{Names, service_view};

use common::health::DrainCause;
use common::job::Phase;
use common::time::{Span, Time};
use state::State;
use state::job::Record;
use state::service::Service;

/// The longest time between two looks at the services.
pub const LOOK_PERIOD: Span = Span::from_seconds(10);

/// The commands that are due for all services, and when to look again even if nothing happens.
#[must_use]
pub fn plan_services(state: &State, readiness: &Readiness, now: Time) -> Plan {
    let mut all = Plan::default();
    let has_routes = readiness.may_send_routes(state, now);
    for service in state.services() {
        let replicas: Vec<ReplicaNow> = replicas(state, service, readiness);
        let reports = Reports { since: readiness.begun_at(), has_routes };
        all.merge(converge(service, &replicas, reports, now));
    }
    all
}

/// The unfinished replicas of a service.
#[must_use]
pub fn replicas(state: &State, service: &Service, readiness: &Readiness) -> Vec<ReplicaNow> {
    let replicas = state.replicas_of(&service.name);
    replicas.filter_map(|record| replica_now(state, service, record, readiness)).collect()
}

fn replica_now(
    state: &State,
    service: &Service,
    record: &Record,
    readiness: &Readiness,
) -> Option<ReplicaNow> {
    let replica = record.spec.ask.replica.as_ref()?;
    let (index, element) = record.elements.first_key_value()?;
    let key = record.key(*index);
    let running_at = element.run.as_ref().and_then(|run| run.running_at);
    let running_at = running_at.filter(|_| element.phase == Phase::Running);
    let role = service.role_of(replica);
    // A node that does not probe reports nothing; without probes none is needed.
    let has_probes = role.is_none_or(|role| role.probes.all().next().is_some());
    let id = element.attempt_id(key);
    let reported = readiness.ready_since(id);
    let ready_since = running_at.and(reported.or(running_at.filter(|_| !has_probes)));
    let unready_since = running_at.and(readiness.unready_since(id)).filter(|_| has_probes);
    let is_drained = |node| {
        let drain = state.node(node).and_then(|node| node.drain.as_ref());
        drain.is_some_and(|drain| drain.cause == DrainCause::Operator)
    };
    let shares = element.run.iter().flat_map(|run| run.allocation.shares());
    let must_leave = running_at.is_some() && shares.map(|share| &share.node).any(is_drained);
    let end = element.run.as_ref().and_then(|run| run.end.as_ref());
    Some(ReplicaNow {
        key,
        role: replica.role.clone(),
        ordinal: replica.ordinal,
        revision: replica.revision,
        phase: element.phase,
        comes_back: end.is_some_and(|end| end.requeue),
        running_at,
        must_leave,
        ready_since,
        unready_since,
    })
}
