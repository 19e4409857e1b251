//! `StartReplica`: submits a replica of a service as a job of the service's owner, from the text of
//! its revision. A place that has an unfinished replica of the same revision gets no second one,
//! so that two leaders that decide the same start one replica. A refusal is noted in the service,
//! and no further replica is submitted for a while.

use super::super::submit_job::{self, Submission, Text};
use crate::event::Event;
use crate::service::{REFUSED_PAUSE, Service};
use crate::state::State;
use common::blob::BlobHash;
use common::id::{Ordinal, RequestKey, Revision, RoleName, ServiceName};
use common::job::{Ask, Replica};
use common::reason::Refusal;
use common::resource::{Apart, Request};
use common::service::{RoleSpec, ServiceEventKind, ServiceSpec};

/// The replica to start.
pub(super) struct Place<'a> {
    pub(super) service: &'a ServiceName,
    pub(super) role: &'a RoleName,
    pub(super) revision: Revision,
    pub(super) ordinal: Ordinal,
}

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    place: &Place<'_>,
) -> Result<(), Refusal> {
    let now = state.now;
    let Some(service) = state.service(place.service).cloned() else { return Ok(()) };
    let spec = service.revisions.get(&place.revision);
    let Some((spec, role)) = spec.and_then(|spec| Some((spec, spec.role(place.role)?))) else {
        return Ok(());
    };
    let is_old = place.revision != service.current;
    if service.is_stopping || is_old || is_taken(state, &service, place) {
        return Ok(());
    }
    let before = events.len();
    let result = submit(state, events, &service, (spec, role), place.ordinal);
    let Some(service) = state.services.get_mut(place.service) else { return Ok(()) };
    let (role, revision, ordinal) = (place.role.clone(), place.revision, place.ordinal);
    match result {
        Ok(()) => {
            service.submitted = service.submitted.saturating_add(1);
            service.submits_after = None;
            let jobs = events[before..].iter().filter_map(|event| match event {
                Event::JobSubmitted { job, .. } => Some(*job),
                _ => None,
            });
            for job in jobs {
                let role = role.clone();
                let event = ServiceEventKind::ReplicaStarted { role, ordinal, revision, job };
                service.note(now, event);
            }
        }
        Err(refusal) => {
            service.submits_after = Some(now + REFUSED_PAUSE);
            let refusal = Box::new(refusal);
            let event = ServiceEventKind::ReplicaRefused { role, revision, refusal };
            // The same refusal again and again is noted once.
            if service.events.last().is_none_or(|last| last.kind != event) {
                service.note(now, event);
            }
        }
    }
    Ok(())
}

/// Whether there is an unfinished replica in this place that need not be replaced.
fn is_taken(state: &State, service: &Service, place: &Place<'_>) -> bool {
    state.replicas_of(place.service).any(|record| {
        record.spec.ask.replica.as_ref().is_some_and(|replica| {
            replica.role == *place.role
                && replica.ordinal == place.ordinal
                && service.is_current(replica.revision, &replica.role)
        })
    })
}

fn submit(
    state: &mut State,
    events: &mut Vec<Event>,
    service: &Service,
    (spec, role): (&ServiceSpec, &RoleSpec),
    ordinal: Ordinal,
) -> Result<(), Refusal> {
    let replica = Replica {
        service: service.name.clone(),
        role: role.name.clone(),
        revision: service.current,
        ordinal,
        ports: role.ports.clone(),
        probes: role.probes.clone(),
        metrics: role.measured(),
        drain_delay: spec.drain_delay,
    };
    // A replica beyond the minimum may be preempted, whatever its queue says, so it may borrow.
    let is_extra = ordinal.0 >= role.replicas.min;
    let preemptible = if is_extra { Some(true) } else { role.ask.preemptible };
    let unlimited = role.ask.time_limit.is_none();
    // All replicas of the role count, whatever their revisions say about it.
    let group = format!("{}/{}", service.name, role.name);
    let apart = Apart { group, ..role.ask.request.apart.clone().unwrap_or_default() };
    let ask = Ask {
        name: format!("{}-{}-{ordinal}", service.name, role.name),
        service: true,
        preemptible,
        unlimited,
        replica: Some(Box::new(replica)),
        request: Request { apart: Some(apart), ..role.ask.request.clone() },
        ..role.ask.clone()
    };
    let (script, environment) = (text(state, role.script), text(state, role.environment));
    let key = format!("{}/{}", service.created_at.0, service.submitted);
    submit_job::apply(
        state,
        events,
        Submission {
            request_key: &RequestKey(format!("{}/{key}", service.name)),
            owner: &service.owner,
            groups: &service.groups,
            operator: service.operator,
            via: service.via.as_ref(),
            asks: vec![ask],
            script: Text::new(&script),
            environment: Text::new(&environment),
        },
    )
}

fn text(state: &State, hash: BlobHash) -> String {
    String::from_utf8_lossy(state.blobs.get(&hash).unwrap_or_default()).into_owned()
}
