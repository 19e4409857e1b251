//! `EndUpdate`: the leader has seen that all replicas of the current revision are healthy, or that
//! the update failed. After a failure the service returns to its last healthy revision, if it is to
//! do so by itself and has one; otherwise the update pauses. An update that has ended meanwhile, or
//! another revision, is left alone.

use super::deploy_service::switch_revision;
use crate::event::Event;
use crate::state::State;
use common::id::{Revision, ServiceName};
use common::reason::Refusal;
use common::service::{ServiceEventKind, UpdateFailure};

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    name: &ServiceName,
    revision: Revision,
    failure: Option<&UpdateFailure>,
) -> Result<(), Refusal> {
    let now = state.now;
    let Some(service) = state.services.get_mut(name) else { return Ok(()) };
    if service.current != revision || service.update.is_none() || service.is_stopping {
        return Ok(());
    }
    let Some(failure) = failure else {
        (service.update, service.healthy) = (None, Some(revision));
        service.note(now, ServiceEventKind::UpdateComplete { revision });
        events.push(Event::ServiceChanged { name: name.clone(), revision });
        return Ok(());
    };
    if service.is_paused {
        return Ok(());
    }
    let reverts = service.spec().is_some_and(|spec| spec.update.auto_revert);
    let to = service.healthy.filter(|healthy| reverts && *healthy != revision);
    let to = to.filter(|to| service.revisions.contains_key(to));
    let why = failure.clone();
    service.note(now, ServiceEventKind::UpdateFailed { revision, why, reverts_to: to });
    match to {
        Some(to) => switch_revision(state, events, name, to),
        None => {
            service.is_paused = true;
            events.push(Event::ServiceChanged { name: name.clone(), revision });
        }
    }
    Ok(())
}
