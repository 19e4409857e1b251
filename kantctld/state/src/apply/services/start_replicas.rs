//! `StartReplicas`: submits replicas of a service as jobs of the service's owner, from the texts of
//! its revision; several of them as a set, which starts together. A place that has an unfinished
//! replica of the same revision gets no second one, so that two leaders that decide the same start
//! one replica. A refusal is noted in the service, and no further replica is submitted for a while.

use super::super::submit_job::{self, Asked, Submission, Text};
use crate::command::ReplicaPlace;
use crate::event::Event;
use crate::service::{REFUSED_PAUSE, Service};
use crate::state::State;
use common::blob::BlobHash;
use common::id::{JobId, Ordinal, RequestKey, Revision, RoleName, ServiceName};
use common::job::{Ask, Replica};
use common::reason::Refusal;
use common::resource::{Apart, Request};
use common::service::{RoleSpec, ServiceEventKind, ServiceSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    name: &ServiceName,
    revision: Revision,
    places: &[ReplicaPlace],
) -> Result<(), Refusal> {
    let now = state.now;
    let Some(service) = state.service(name).cloned() else { return Ok(()) };
    let Some(spec) = service.revisions.get(&revision).map(Arc::clone) else { return Ok(()) };
    let role = |place: &ReplicaPlace| spec.role(&place.role).map(|role| (role, place.ordinal));
    let Some(roles) = places.iter().map(role).collect::<Option<Vec<_>>>() else { return Ok(()) };
    let is_taken = |place: &ReplicaPlace| is_taken(state, &service, place);
    let is_old = revision != service.current;
    let Some(first) = places.first().filter(|_| !service.is_stopping && !is_old) else {
        return Ok(());
    };
    if places.iter().any(is_taken) {
        return Ok(());
    }
    let before = events.len();
    let result = submit(state, events, &service, &spec, &roles);
    let Some(service) = state.services.get_mut(name) else { return Ok(()) };
    match result {
        Ok(()) => {
            service.submitted = service.submitted.saturating_add(places.len() as u64);
            service.submits_after = None;
            let submitted = |event: &Event| match event {
                Event::JobSubmitted { job, .. } => Some(*job),
                _ => None,
            };
            let jobs: Vec<JobId> = events[before..].iter().filter_map(submitted).collect();
            for (place, job) in places.iter().zip(jobs) {
                let (role, ordinal) = (place.role.clone(), place.ordinal);
                let event = ServiceEventKind::ReplicaStarted { role, ordinal, revision, job };
                service.note(now, event);
            }
        }
        Err(refusal) => {
            service.submits_after = Some(now + REFUSED_PAUSE);
            let (role, refusal) = (first.role.clone(), Box::new(refusal));
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
fn is_taken(state: &State, service: &Service, place: &ReplicaPlace) -> bool {
    state.replicas_of(&service.name).any(|record| {
        record.spec.ask.replica.as_ref().is_some_and(|replica| {
            replica.role == place.role
                && replica.ordinal == place.ordinal
                && service.is_current(replica.revision, &replica.role)
        })
    })
}

fn submit(
    state: &mut State,
    events: &mut Vec<Event>,
    service: &Service,
    spec: &ServiceSpec,
    places: &[(&RoleSpec, Ordinal)],
) -> Result<(), Refusal> {
    // The replicas of a role share their texts: copied and hashed once.
    let mut copies: BTreeMap<&RoleName, [String; 2]> = BTreeMap::new();
    for (role, _) in places {
        copies
            .entry(&role.name)
            .or_insert_with(|| [role.script, role.environment].map(|hash| text(state, hash)));
    }
    let texts: BTreeMap<&RoleName, [Text<'_>; 2]> = copies
        .iter()
        .map(|(name, texts)| (*name, texts.each_ref().map(|text| Text::new(text))))
        .collect();
    let jobs = places.iter().map(|(role, ordinal)| {
        let [script, environment] = texts[&role.name];
        Asked { ask: ask(service, spec, role, *ordinal), script, environment }
    });
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
            jobs: jobs.collect(),
        },
    )
}

/// The request of a replica.
fn ask(service: &Service, spec: &ServiceSpec, role: &RoleSpec, ordinal: Ordinal) -> Ask {
    let replica = Replica {
        service: service.name.clone(),
        role: role.name.clone(),
        revision: service.current,
        ordinal,
        ports: role.ports.clone(),
        probes: role.probes.clone(),
        metrics: role.node_metrics(),
        drain_delay: spec.drain_delay,
    };
    // A replica beyond the minimum may be preempted, whatever its queue says, so it may borrow.
    let is_extra = ordinal.0 >= role.replicas.min;
    let preemptible = if is_extra { Some(true) } else { role.ask.preemptible };
    // All replicas of the role count, whatever their revisions say about it.
    let group = format!("{}/{}", service.name, role.name);
    let apart = Apart { group, ..role.ask.request.apart.clone().unwrap_or_default() };
    Ask {
        name: format!("{}-{}-{ordinal}", service.name, role.name),
        service: true,
        preemptible,
        unlimited: role.ask.time_limit.is_none(),
        replica: Some(Box::new(replica)),
        request: Request { apart: Some(apart), ..role.ask.request.clone() },
        ..role.ask.clone()
    }
}

fn text(state: &State, hash: BlobHash) -> String {
    String::from_utf8_lossy(state.blobs.get(&hash).unwrap_or_default()).into_owned()
}
