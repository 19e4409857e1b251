//! Jobs with a lease, which live only as long as their client renews it. The leader measures the
//! time, and the command `LeaseOver` ends such a job.

use crate::state::State;
use common::id::JobKey;
use common::job::Phase;
use common::time::Span;

/// The unfinished jobs with a lease, and its length. Jobs without a lease cost nothing.
pub fn leased(state: &State) -> impl Iterator<Item = (JobKey, Span)> + '_ {
    state.living.leased().filter_map(|key| {
        let (record, element) = state.element(key)?;
        let open = !matches!(element.phase, Phase::Completing | Phase::Done);
        record.spec.ask.lease.filter(|_| open).map(|lease| (key, lease))
    })
}
