//! The jobs that a command changed, taken from its events for the answer to the client.

use super::Event;
use common::id::JobKey;
use common::reason::Refusal;
use common::time::Time;

/// The jobs and array tasks that a command changed, each once.
///
/// # Errors
/// The refusal, if there is one among the events.
pub fn changed_jobs(events: &[Event]) -> Result<Vec<JobKey>, Refusal> {
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

/// The time at which the work of the addressed jobs was saved; `None` if the events hold no such
/// time.
#[must_use]
pub fn saved_at(events: &[Event]) -> Option<Time> {
    events.iter().find_map(|event| match event {
        Event::JobSaved { at, .. } => Some(*at),
        _ => None,
    })
}
