//! What a command changed, of all that it told, for its answer. Never decides what is told.

use super::Event;
use common::id::JobKey;
use common::reason::Refusal;
use common::time::Time;

/// For the answer: the jobs and array tasks that a command changed, each once.
///
/// # Errors
/// The refusal among the events.
pub fn changed(events: &[Event]) -> Result<Vec<JobKey>, Refusal> {
    let mut keys = Vec::new();
    for event in events {
        if let Event::CommandRefused(refusal) = event {
            return Err(refusal.clone());
        }
        keys.extend(event.key());
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

/// When the work of the jobs was saved that a command was about; `None`: it was about none.
#[must_use]
pub fn saved(events: &[Event]) -> Option<Time> {
    events.iter().find_map(|event| match event {
        Event::JobSaved { at, .. } => Some(*at),
        _ => None,
    })
}
