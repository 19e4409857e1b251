//! Jobs whose deadline has come. Never ends one; the command `DeadlineOver` does, after it has
//! looked again.

use crate::remembered::State;
use common::id::JobKey;
use common::job::Phase;
use common::time::Time;

/// The jobs and array tasks that should be over by now and neither are nor are being stopped, by
/// their deadlines. Costs nothing for those whose deadline is still to come.
#[must_use]
pub fn missed(state: &State, now: Time) -> Vec<JobKey> {
    let open = |key: &JobKey| {
        let phase = state.element(*key).map(|(_, element)| element.phase);
        !matches!(phase, None | Some(Phase::Completing | Phase::Done))
    };
    state.living.due(now).filter(open).collect()
}
