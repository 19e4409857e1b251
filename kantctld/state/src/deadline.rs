//! Jobs whose deadline has passed. The command `DeadlineOver` checks again and ends them.

use crate::state::State;
use common::id::JobKey;
use common::job::Phase;
use common::time::Time;

/// The jobs and array tasks past their deadline that have not ended and are not being stopped, in
/// the order of their deadlines. Jobs with a later deadline cost nothing.
#[must_use]
pub fn jobs_past_deadline(state: &State, now: Time) -> Vec<JobKey> {
    let open = |key: &JobKey| {
        let phase = state.element(*key).map(|(_, element)| element.phase);
        !matches!(phase, None | Some(Phase::Completing | Phase::Done))
    };
    state.living.past_deadline(now).filter(open).collect()
}
