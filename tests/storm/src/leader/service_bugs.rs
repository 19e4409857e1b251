//! Injected bugs of a leader's services, each active only when it is named.

use super::Lead;
use crate::mutants::Mutant;
use common::id::{AttemptId, JobKey, NodeName, Ordinal};
use common::job::{Phase, ReplicaHealth, ReplicaStatus};
use common::service::StopReason;
use common::service::table::EndpointState;
use common::time::Time;
use common::wire::node::RouteOrder;
use lead::services::Readiness;
use state::job::Record;
use state::service::Service;
use state::{Command, ReplicaPlace, State};
use std::collections::BTreeMap;

/// The last report of each replica that was ready, whatever its attempt.
#[derive(Default)]
pub(super) struct OldReports(BTreeMap<JobKey, (NodeName, ReplicaStatus)>);

impl OldReports {
    pub(super) fn note(&mut self, node: &NodeName, statuses: &[ReplicaStatus]) {
        for status in statuses.iter().filter(|status| status.health == ReplicaHealth::Ready) {
            self.0.insert(status.id.key, (node.clone(), status.clone()));
        }
    }

    /// Reports the current attempt of each replica as ready if an earlier one was.
    pub(super) fn count(&self, state: &State, readiness: &mut Readiness, now: Time) {
        for (key, (node, status)) in &self.0 {
            let Some((_, element)) = state.element(*key) else { continue };
            let id = AttemptId { key: *key, attempt: element.attempt };
            let is_earlier = status.id.attempt < id.attempt && readiness.ready_since(id).is_none();
            if element.phase == Phase::Running && is_earlier {
                readiness.note_report(node, vec![ReplicaStatus { id, ..status.clone() }], now);
            }
        }
    }
}

/// Reports each replica that runs, and on which there is no report, as not ready.
pub(super) fn report_unready(state: &State, readiness: &mut Readiness, now: Time) {
    for record in state.services().flat_map(|service| state.replicas_of(&service.name)) {
        let Some((index, element)) = record.elements.first_key_value() else { continue };
        let id = element.attempt_id(record.key(*index));
        let shares = element.run.as_ref().map(|run| run.allocation.shares());
        let node = shares.and_then(|shares| Some(shares.first()?.node.clone()));
        let Some(node) = node.filter(|_| element.phase == Phase::Running) else { continue };
        if readiness.get(id).is_none() {
            let health = ReplicaHealth::NotReady;
            let status = ReplicaStatus { id, health, ports: Vec::new(), why: None };
            readiness.note_report(&node, vec![status], now);
        }
    }
}

/// Lists each endpoint that drains as ready.
pub(super) fn list_draining(orders: &mut [RouteOrder]) {
    for endpoint in orders.iter_mut().flat_map(|order| &mut order.endpoints) {
        if endpoint.state == EndpointState::Draining {
            endpoint.state = EndpointState::Ready;
        }
    }
}

impl Lead {
    /// Changes the commands that are due for services, if a mutant is to do so.
    pub(super) fn spoil(&self, state: &State, commands: &mut Vec<Command>) {
        match self.mutant {
            Some(Mutant::ScaleBelowMin) => scale_below_min(state, commands),
            Some(Mutant::StartAllAtOnce) => start_all(state, commands),
            Some(Mutant::ReplaceEarly) => replace_early(state, commands),
            _ => {}
        }
    }
}

/// For each replica that is surplus, the last one below the minimum is stopped as well.
fn scale_below_min(state: &State, commands: &mut Vec<Command>) {
    let mut more = Vec::new();
    for command in commands.iter() {
        let Command::StopReplica { key, why: StopReason::ScaledDown } = command else { continue };
        let Some(replica) = state.job(key.job).and_then(|job| job.spec.ask.replica.as_deref())
        else {
            continue;
        };
        let Some(service) = state.service(&replica.service) else { continue };
        let min = service.role_of(replica).map_or(0, |role| role.replicas.min);
        let all = state.replicas_of(&service.name);
        let last = all.filter(|record| {
            let other = record.spec.ask.replica.as_deref();
            other.is_some_and(|one| one.role == replica.role && one.ordinal.0 + 1 == min)
        });
        more.extend(last.map(|record| stop(record, StopReason::ScaledDown)));
    }
    commands.append(&mut more);
}

/// Every place that has no replica of the current revision gets one.
fn start_all(state: &State, commands: &mut Vec<Command>) {
    let updated = state.services().filter(|one| one.update.is_some() && !one.is_stopping);
    for service in updated.filter(|service| !service.is_paused) {
        for role in service.spec().into_iter().flat_map(|spec| &spec.roles) {
            let is_new = |record: &&Record| {
                let replica = record.spec.ask.replica.as_deref();
                replica.is_some_and(|replica| {
                    replica.role == role.name && service.is_current(replica.revision, &role.name)
                })
            };
            let taken: Vec<Ordinal> = state
                .replicas_of(&service.name)
                .filter(is_new)
                .filter_map(|record| record.spec.ask.replica.as_deref().map(|one| one.ordinal))
                .collect();
            let free = (0..service.wanted(&role.name)).map(Ordinal);
            for ordinal in free.filter(|ordinal| !taken.contains(ordinal)) {
                let (name, role) = (service.name.clone(), role.name.clone());
                let revision = service.current;
                let places = vec![ReplicaPlace { role, ordinal }];
                let start = Command::StartReplicas { service: name, revision, places };
                if !commands.contains(&start) {
                    commands.push(start);
                }
            }
        }
    }
}

/// All replicas of earlier revisions are stopped.
fn replace_early(state: &State, commands: &mut Vec<Command>) {
    for service in state.services().filter(|one| one.update.is_some() && !one.is_stopping) {
        let is_old = |service: &Service, record: &Record| {
            let replica = record.spec.ask.replica.as_deref();
            let is_new = replica.is_none_or(|one| service.is_current(one.revision, &one.role));
            let is_over = record.elements.values().all(|one| one.phase == Phase::Completing);
            !is_new && !is_over
        };
        let old = state.replicas_of(&service.name).filter(|record| is_old(service, record));
        commands.extend(old.map(|record| stop(record, StopReason::Replaced)));
    }
}

const fn stop(record: &Record, why: StopReason) -> Command {
    Command::StopReplica { key: JobKey::single(record.id), why }
}
