//! Judge of services once all faults have ended: each has what it wants, or says why not; and
//! nothing is left of one that was stopped.

use super::ServiceJudge;
use crate::services::is_never_ready;
use common::id::{Ordinal, Revision, RoleName};
use common::job::Phase;
use common::service::{RoleSpec, ServiceEventKind};
use state::State;
use state::job::Record;
use state::service::Service;

impl ServiceJudge {
    /// What is still to happen to services.
    pub fn unsettled(&self, state: &State) -> Vec<String> {
        let of = |service: &Service| {
            let found = self.unsettled_service(state, service)?;
            Some(format!("{}: {found}", service.name))
        };
        state.services().filter_map(of).collect()
    }

    fn unsettled_service(&self, state: &State, service: &Service) -> Option<String> {
        if service.is_stopping {
            return Some("it is being stopped".to_owned());
        }
        if service.is_paused {
            return (!says_why_paused(service)).then(|| "it is paused without a reason".to_owned());
        }
        let Some(spec) = service.spec() else { return Some("it has no revision".to_owned()) };
        let awaits_promotion = service.update.is_some_and(|update| !update.is_promoted);
        for role in &spec.roles {
            let wanted = service.wanted(&role.name);
            let found = match awaits_promotion {
                true => self.canaries(state, service, role, wanted.min(spec.update.canary)),
                false => self.unsettled_role(state, service, role, wanted),
            };
            if let Some(text) = found {
                return Some(format!("{}: {text}", role.name));
            }
        }
        let has_role = |record: &Record| spec.roles.iter().any(|role| is_of(record, &role.name));
        let mut all = state.replicas_of(&service.name);
        if let Some(record) = all.find(|record| !awaits_promotion && !has_role(record)) {
            return Some(format!("job {} is of a role that is gone", record.id));
        }
        let is_held = current_events(service).any(is_held);
        if service.update.is_some() && !awaits_promotion && !is_held {
            return Some("its update is not complete".to_owned());
        }
        None
    }

    fn canaries(
        &self,
        state: &State,
        service: &Service,
        role: &RoleSpec,
        wanted: u32,
    ) -> Option<String> {
        let own = state.replicas_of(&service.name).filter(|record| is_of(record, &role.name));
        let ready = own.filter(|record| is_new(service, record) && self.is_ready(record)).count();
        (ready < wanted as usize).then(|| format!("{ready} canaries are ready, of {wanted}"))
    }

    fn unsettled_role(
        &self,
        state: &State,
        service: &Service,
        role: &RoleSpec,
        wanted: u32,
    ) -> Option<String> {
        let all = || state.replicas_of(&service.name).filter(|record| is_of(record, &role.name));
        for place in (0..wanted).map(Ordinal) {
            let found = all().find(|record| at(record) == Some(place) && is_new(service, record));
            match found {
                None if has_held(service, &role.name, place) => {}
                None => return Some(format!("place {place} is empty")),
                Some(record) if !self.is_ready(record) && !is_left(state, service, role) => {
                    return Some(format!("job {} in place {place} is not ready", record.id));
                }
                Some(_) => {}
            }
        }
        let count = all().count();
        (count > wanted as usize).then(|| format!("{count} replicas, {wanted} are wanted"))
    }

    fn is_ready(&self, record: &Record) -> bool {
        record.elements.iter().all(|(index, element)| {
            let id = element.attempt_id(record.key(*index));
            element.phase == Phase::Running && self.answering.contains(&id)
        })
    }
}

/// Whether the role has a program that never gets ready, and no update that could fail for it: it
/// was deployed while no replica was wanted.
fn is_left(state: &State, service: &Service, role: &RoleSpec) -> bool {
    let script = state.blobs().get(&role.script).unwrap_or_default();
    service.update.is_none() && is_never_ready(&String::from_utf8_lossy(script))
}

fn is_of(record: &Record, role: &RoleName) -> bool {
    record.spec.ask.replica.as_ref().is_some_and(|replica| replica.role == *role)
}

fn at(record: &Record) -> Option<Ordinal> {
    record.spec.ask.replica.as_ref().map(|replica| replica.ordinal)
}

/// Whether the replica has the text of the current revision.
fn is_new(service: &Service, record: &Record) -> bool {
    let Some(replica) = record.spec.ask.replica.as_ref() else { return false };
    let text = |revision: Revision| {
        let spec = service.revisions.get(&revision)?;
        let role = spec.roles.iter().find(|role| role.name == replica.role)?;
        Some((role.script, role.replicas, &role.probes, spec.drain_delay))
    };
    text(replica.revision).is_some() && text(replica.revision) == text(service.current)
}

/// The events since the last deployment, rollback or resumption.
fn current_events(service: &Service) -> impl Iterator<Item = &ServiceEventKind> {
    let begins = |kind: &ServiceEventKind| {
        matches!(
            kind,
            ServiceEventKind::Deployed { .. }
                | ServiceEventKind::RolledBack { .. }
                | ServiceEventKind::Resumed { .. }
        )
    };
    let kinds = service.events.iter().map(|event| &event.kind).rev();
    kinds.take_while(move |kind| !begins(kind))
}

fn says_why_paused(service: &Service) -> bool {
    current_events(service).any(|kind| {
        matches!(
            kind,
            ServiceEventKind::Paused { .. }
                | ServiceEventKind::UpdateFailed { reverts_to: None, .. }
        )
    })
}

const fn is_held(kind: &ServiceEventKind) -> bool {
    matches!(kind, ServiceEventKind::ReplicaHeld { .. })
}

fn has_held(service: &Service, of: &RoleName, place: Ordinal) -> bool {
    current_events(service).any(|kind| match kind {
        ServiceEventKind::ReplicaHeld { role, ordinal, .. } => role == of && *ordinal == place,
        _ => false,
    })
}
