//! `AutoscaleService`: the leader's decision by a role's autoscaling policy. A role that has no
//! policy any more, or a service that is being stopped, is left alone.

use crate::event::Event;
use crate::state::State;
use common::autoscale::Reason;
use common::id::{RoleName, ServiceName};
use common::reason::Refusal;
use common::service::{ScaledBy, ServiceEventKind};

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    (name, role): (&ServiceName, &RoleName),
    replicas: u32,
    reason: &Reason,
) -> Result<(), Refusal> {
    let now = state.now;
    let Some(service) = state.services.get_mut(name).filter(|service| !service.is_stopping) else {
        return Ok(());
    };
    let spec = service.spec().and_then(|spec| spec.role(role));
    let Some(bounds) = spec.filter(|role| role.autoscale.is_some()).map(|role| role.replicas)
    else {
        return Ok(());
    };
    let (from, to) = (service.wanted(role), bounds.clamp(replicas));
    if from == to {
        return Ok(());
    }
    service.wanted.insert(role.clone(), to);
    let (role, by) = (role.clone(), ScaledBy::Policy(Box::new(reason.clone())));
    service.note(now, ServiceEventKind::Scaled { role, from, to, by });
    let revision = service.current;
    events.push(Event::ServiceChanged { name: name.clone(), revision });
    Ok(())
}
