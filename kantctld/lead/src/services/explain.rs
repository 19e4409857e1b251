//! Why a service has the replicas that it has, and what would change that.

use super::autoscaler::Autoscaler;
use super::view::{Names, service_view};
use autoscale::Sample;
use common::autoscale::{LocalTime, Replicas};
use common::job::Phase;
use common::service::{RoleSpec, ScaledBy, ServiceEventKind};
use common::time::{Span, Time};
use common::wire::api::{RoleExplanation, RoleView, ServiceExplanation};
use state::State;
use state::service::Service;

/// From this age on, a sample's age is shown.
const OLD: Span = Span::from_seconds(10);

/// Explains a service.
#[must_use]
pub fn explain(
    state: &State,
    service: &Service,
    readiness: &super::Readiness,
    autoscaler: &Autoscaler,
    names: &Names<'_>,
    (now, local): (Time, LocalTime),
) -> ServiceExplanation {
    let view = service_view(state, service, readiness, names, false);
    let spec = service.spec();
    let roles = view.roles.iter().filter_map(|role| {
        let of = spec?.role(&role.name)?;
        Some(explain_role(service, of, role, autoscaler, names, (now, local)))
    });
    let roles = roles.collect();
    ServiceExplanation { name: view.name, state: view.state, revision: view.revision, roles }
}

fn explain_role(
    service: &Service,
    spec: &RoleSpec,
    role: &RoleView,
    autoscaler: &Autoscaler,
    names: &Names<'_>,
    (now, local): (Time, LocalTime),
) -> RoleExplanation {
    let sample = autoscaler.last_sample(&service.name, &role.name);
    let policy = spec.autoscale.as_ref();
    RoleExplanation {
        name: role.name.clone(),
        bounds: role.bounds,
        wanted: role.wanted,
        ready: role.ready,
        set: set_by(service, role, names),
        decision: role.autoscale.clone(),
        measured: policy.map(|_| {
            sample.map_or_else(|| "nothing yet".to_owned(), |last| sample_figures(last, now))
        }),
        outlook: policy.map(|policy| policy.outlook(Replicas(role.wanted), local)),
        missing: lines_for_missing(service, role),
    }
}

/// What set the wanted number.
fn set_by(service: &Service, role: &RoleView, names: &Names<'_>) -> (Option<Time>, String) {
    let last = service.events.iter().rev().find_map(|event| match &event.kind {
        ServiceEventKind::Scaled { role: of, by, .. } if *of == role.name => Some((event.at, by)),
        _ => None,
    });
    match last {
        None if role.wanted == role.bounds.min => (None, format!("`min` of role {}", role.name)),
        None => (None, "before the events that are kept".to_owned()),
        Some((at, ScaledBy::Policy(reason))) => (Some(at), format!("by its policy: {reason}")),
        Some((at, ScaledBy::User(uid))) => (Some(at), format!("by user {}", (names.user)(uid.0))),
        Some((at, ScaledBy::Revision(revision))) => {
            (Some(at), format!("by the bounds of revision {revision}"))
        }
    }
}

/// A line for each place without a ready replica.
fn lines_for_missing(service: &Service, role: &RoleView) -> Vec<String> {
    let places = (0..role.wanted).filter_map(|place| {
        let name = format!("{}.{place}", role.name);
        let own = || role.replicas.iter().filter(|one| one.ordinal.0 == place);
        if own().any(|one| one.is_ready()) {
            return None;
        }
        let Some(replica) = own().next() else {
            let failures = service.failures(&role.name, common::id::Ordinal(place));
            return Some(match failures {
                Some(failures) => format!(
                    "{name}: not submitted, after {} failures in a row: see `kantctl service \
                     events {}`",
                    failures.in_a_row, service.name
                ),
                None => format!("{name}: not submitted yet"),
            });
        };
        let job = replica.job;
        let why = replica.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        Some(match (replica.phase, replica.health) {
            (Phase::Pending, _) => {
                format!("{name}: job {job} waits{why} (`kantctl explain {job}`)")
            }
            (_, Some(health)) => format!("{name}: job {job} is {}{why}", health.word()),
            (phase, None) => format!("{name}: job {job} is {phase}{why}"),
        })
    });
    places.collect()
}

/// The figures of a sample.
fn sample_figures(sample: &Sample, now: Time) -> String {
    let (ready, reporting) = (sample.ready, sample.reporting);
    let parts = [
        sample.in_flight.map(|sum| format!("{sum} requests in flight")),
        (!sample.held.is_zero()).then(|| format!("{} held", sample.held)),
        sample.rate.map(|sum| format!("{sum} requests per second")),
        sample.waiting.map(|sum| format!("{sum} waiting")),
        sample.kv_usage.map(|sum| format!("KV caches in use: {sum}")),
        sample.gpu_usage.map(|sum| format!("GPU time in use: {sum}")),
        sample.freeness.map(|mean| format!("mean freeness {mean}")),
        sample.ttft.map(|mean| format!("{mean} ms to the first token")),
        sample.itl.map(|mean| format!("{mean} ms between tokens")),
        (reporting < ready).then(|| format!("from {reporting} of {ready} replicas")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let age = now.since(sample.at);
    let age = if age < OLD { String::new() } else { format!(", {age} ago") };
    let text = if parts.is_empty() { "no metric is reported".to_owned() } else { parts.join(", ") };
    text + &age
}

#[cfg(test)]
mod tests;
