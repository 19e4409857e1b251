//! `ActOnService`: scales, pauses, resumes, promotes, rolls back or stops a service, for its owner
//! or an operator. The leader then starts and stops replicas.

use super::deploy_service::{find_role, may_change, switch_revision};
use crate::command::{Actor, ServiceAction};
use crate::event::Event;
use crate::service::Service;
use crate::state::State;
use common::id::{Revision, RoleName, ServiceName};
use common::reason::{Refusal, ServiceRefusal};
use common::service::{ScaledBy, ServiceEventKind};

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    name: &ServiceName,
    action: &ServiceAction,
) -> Result<(), Refusal> {
    let (now, by) = (state.now, actor.uid);
    let unknown = || ServiceRefusal::Unknown { name: name.clone() };
    let service = state.services.get_mut(name).ok_or_else(unknown)?;
    may_change(service, actor)?;
    if service.is_stopping && *action != ServiceAction::Stop {
        return Err(ServiceRefusal::Stopping { name: name.clone() }.into());
    }
    match action {
        ServiceAction::Scale { role, replicas } => {
            check_scale(service, role, *replicas)?;
            let from = service.wanted(role);
            service.wanted.insert(role.clone(), *replicas);
            if from != *replicas {
                let (role, by) = (role.clone(), ScaledBy::User(by));
                service.note(now, ServiceEventKind::Scaled { role, from, to: *replicas, by });
            }
        }
        ServiceAction::RollBack { to } => {
            let to = rollback_revision(service, *to)?;
            service.note(now, ServiceEventKind::RolledBack { to, by });
            switch_revision(state, events, name, to);
            return Ok(());
        }
        ServiceAction::Pause => {
            if !service.is_paused {
                service.is_paused = true;
                service.note(now, ServiceEventKind::Paused { by });
            }
        }
        ServiceAction::Resume => {
            service.is_paused = false;
            (service.failures, service.submits_after) = (Vec::new(), None);
            if let Some(update) = &mut service.update {
                update.since = now;
            }
            service.note(now, ServiceEventKind::Resumed { by });
        }
        ServiceAction::Promote => {
            let revision = service.current;
            let Some(update) = service.update.as_mut().filter(|update| !update.is_promoted) else {
                return Err(ServiceRefusal::NothingToPromote { name: name.clone() }.into());
            };
            (update.is_promoted, update.since) = (true, now);
            service.note(now, ServiceEventKind::Promoted { revision, by });
        }
        ServiceAction::Stop => {
            if !service.is_stopping {
                service.is_stopping = true;
                service.note(now, ServiceEventKind::StopRequested { by });
            }
        }
    }
    let revision = service.current;
    events.push(Event::ServiceChanged { name: name.clone(), revision });
    Ok(())
}

/// Checks that a role may have this number of replicas.
fn check_scale(service: &Service, role: &RoleName, replicas: u32) -> Result<(), ServiceRefusal> {
    let spec = find_role(service, role)?;
    if spec.autoscale.is_some() {
        let (name, role) = (service.name.clone(), role.clone());
        return Err(ServiceRefusal::Autoscaled { name, role });
    }
    let bounds = spec.replicas;
    if bounds.clamp(replicas) == replicas {
        return Ok(());
    }
    let (name, role, min, max) = (service.name.clone(), role.clone(), bounds.min, bounds.max);
    Err(ServiceRefusal::OutOfBounds { name, role, replicas, min, max })
}

/// The revision to return to: the named one, or the last healthy one before the current one.
fn rollback_revision(service: &Service, to: Option<Revision>) -> Result<Revision, ServiceRefusal> {
    let other = service.healthy.filter(|healthy| *healthy != service.current);
    let before = || service.revisions.keys().rev().copied().find(|one| *one < service.current);
    let found = to.or(other).or_else(before);
    let found = found.filter(|found| service.revisions.contains_key(found));
    found.ok_or_else(|| ServiceRefusal::UnknownRevision {
        name: service.name.clone(),
        known: service.revisions.keys().copied().collect(),
    })
}
