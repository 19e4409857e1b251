//! `Configure`: the leader's settings, for all replicas alike. Refused if they make no sense.
//! A queue that is left out while jobs live in it stays as it was until they are over, and takes no
//! new ones: so that settings which have become stricter hold at once. Never touches a job.

use crate::command::Settings;
use crate::event::Event;
use crate::remembered::State;
use common::id::{JobKey, QueueName};
use common::queue::Queue;
use common::reason::Refusal;
use std::collections::BTreeSet;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    settings: &Settings,
) -> Result<(), Refusal> {
    let bad = |message: String| Err(Refusal::BadAsk { message });
    let names: BTreeSet<&QueueName> = settings.queues.iter().map(|q| &q.name).collect();
    if names.len() != settings.queues.len() {
        return bad("two queues have one name: give each [[queue]] a name of its own".to_owned());
    }
    if settings.queues.iter().filter(|q| q.default).count() != 1 {
        return bad("exactly one queue must be the default: set `default = true` in one".to_owned());
    }
    let missing: BTreeSet<QueueName> =
        inhabited(state).difference(&names).map(|name| (*name).clone()).collect();
    let kept = state.queues().iter().filter(|queue| missing.contains(&queue.name));
    let kept = kept.map(|queue| Queue { default: false, ..queue.clone() });
    let mut settings = settings.clone();
    settings.queues.extend(kept.collect::<Vec<_>>());
    if state.settings.as_ref() != Some(&settings) || state.retired != missing {
        (state.settings, state.retired) = (Some(settings), missing);
        events.push(Event::Configured);
    }
    Ok(())
}

/// Drops the queues that were kept for jobs which are over by now.
pub(super) fn drop_empty(state: &mut State, events: &mut Vec<Event>) {
    if state.retired.is_empty() {
        return;
    }
    let inhabited = inhabited(state);
    let is_empty = |name: &&QueueName| !inhabited.contains(name);
    let gone: BTreeSet<QueueName> = state.retired.iter().filter(is_empty).cloned().collect();
    state.retired.retain(|name| !gone.contains(name));
    if let Some(settings) = state.settings.as_mut().filter(|_| !gone.is_empty()) {
        settings.queues.retain(|queue| !gone.contains(&queue.name));
        events.push(Event::Configured);
    }
}

/// The queues in which jobs live.
fn inhabited(state: &State) -> BTreeSet<&QueueName> {
    let queue = |key: JobKey| state.job(key.job)?.spec.ask.queue.as_ref();
    state.live().filter_map(queue).collect()
}
