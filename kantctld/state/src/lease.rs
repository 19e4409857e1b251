//! Jobs that live on a lease: only as long as whoever waits for them says so. Never counts the
//! time; the leader does, and the command `LeaseOver` ends one.

use crate::remembered::State;
use common::id::JobKey;
use common::job::Phase;
use common::time::Span;

/// The jobs whose lease may run out, and how long each is: those that wait or live. Costs nothing
/// for all others.
pub fn leased(state: &State) -> impl Iterator<Item = (JobKey, Span)> + '_ {
    state.living.leased().filter_map(|key| {
        let (record, element) = state.element(key)?;
        let open = !matches!(element.phase, Phase::Completing | Phase::Done);
        record.spec.ask.lease.filter(|_| open).map(|lease| (key, lease))
    })
}
