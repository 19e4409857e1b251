//! What a command changed, of all that it told. Never decides what is told.

use super::Event;
use common::id::JobKey;
use common::reason::Refusal;

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
