//! The charging of usage, by account and user and by queue: what allocations kept from others,
//! recorded when their nodes release them, and what current allocations add until now.

use crate::queue_usage::QueueUsages;
use crate::state::State;
use crate::usage::{Charged, Usages, Used};
use common::id::{JobKey, QueueName};
use common::resource::Share;
use common::time::Time;

/// The usage so far of current allocations, which is not charged yet. It adds to [`State::usage`].
#[must_use]
pub fn running_usage(state: &State, now: Time) -> Usages {
    let mut usages = Usages::default();
    for (node, held) in state.ledger().nodes() {
        for (id, _) in held.holders() {
            let run = state.element(id.key).and_then(|(_, element)| element.run.as_ref());
            let Some((run, payer)) = run.zip(payer(state, id.key)) else { continue };
            if let Some(rank) = run.rank(node) {
                usages.charge(&payer, &run.allocation.shares()[rank], run.since(rank), now);
            }
        }
    }
    usages
}

/// Charges a share that its node releases, and adds to the run what it kept from others until then.
/// The share must not have ended yet.
pub(crate) fn charge_share(state: &mut State, key: JobKey, rank: usize, until: Time) {
    let Some(payer) = payer(state, key) else { return };
    let run = state.element_mut(key).and_then(|element| element.run.as_deref_mut());
    let Some(run) = run else { return };
    let (allocation, from) = (run.allocation.clone(), run.since(rank));
    let Some(share) = allocation.shares().get(rank) else { return };
    run.kept = run.kept.and(Used::of_share(share, until.since(from)));
    state.usage.charge(&payer, share, from, until);
    charge_queue(state, key, share, (from, until));
}

fn payer(state: &State, key: JobKey) -> Option<Charged> {
    let spec = &state.job(key.job)?.spec;
    Some(Charged { account: spec.ask.account.clone(), user: spec.owner.uid })
}

/// Whether past use of queues counts.
pub(crate) fn past_use_counts(state: &State) -> bool {
    state.settings().is_some_and(|set| set.fair_sharing && set.factors.past_use_percent > 0)
}

/// Starts or stops the recording after new settings took effect.
pub(crate) fn update_past_use_recording(state: &mut State) {
    let since = state.queue_usage_since.unwrap_or(state.now);
    state.queue_usage_since = past_use_counts(state).then_some(since);
}

/// The time from which an allocation counts: not before past use began to count.
fn counted_from(state: &State, held_since: Time) -> Time {
    state.queue_usage_since.map_or(held_since, |since| held_since.max(since))
}

/// The usage of queues: what is recorded, and what current allocations add. Empty if past use does
/// not count.
#[must_use]
pub fn queue_usage(state: &State, now: Time) -> QueueUsages {
    if !past_use_counts(state) {
        return QueueUsages::default();
    }
    let mut usages = state.queue_usage().clone();
    for (node, held) in state.ledger().nodes() {
        for (id, _) in held.holders() {
            let run = state.element(id.key).and_then(|(_, element)| element.run.as_ref());
            let Some((run, queue)) = run.zip(queue_of(state, id.key)) else { continue };
            if let Some(rank) = run.rank(node) {
                let since = counted_from(state, run.since(rank));
                usages.charge(queue, &run.allocation.shares()[rank], since, now);
            }
        }
    }
    usages
}

/// Records the usage of a share that its node releases, which held it in this time.
fn charge_queue(state: &mut State, key: JobKey, share: &Share, (from, until): (Time, Time)) {
    if past_use_counts(state)
        && let Some(queue) = queue_of(state, key).cloned()
    {
        let from = counted_from(state, from);
        state.queue_usage.charge(&queue, share, from, until);
    }
}

fn queue_of(state: &State, key: JobKey) -> Option<&QueueName> {
    state.job(key.job)?.spec.ask.queue.as_ref()
}
