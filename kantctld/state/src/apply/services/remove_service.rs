//! `RemoveService`: removes a stopped service whose replicas have all ended.

use crate::event::Event;
use crate::state::State;
use common::id::ServiceName;
use common::reason::Refusal;

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    name: &ServiceName,
) -> Result<(), Refusal> {
    let is_over = state.service(name).is_some_and(|service| service.is_stopping)
        && state.replicas_of(name).next().is_none();
    if !is_over {
        return Ok(());
    }
    if let Some(service) = state.services.remove(name) {
        for hash in
            service.revisions.values().flat_map(|spec| spec.blob_hashes().collect::<Vec<_>>())
        {
            state.blobs.drop_use(&hash);
        }
        events.push(Event::ServiceRemoved { name: name.clone() });
    }
    Ok(())
}
