//! `Configure`: sets the leader's settings on all replicas, unless they are inconsistent. A queue
//! that the new settings omit while it has unfinished jobs stays as it was until they end, but
//! admits no new jobs. Thus stricter settings take effect at once. No job is changed.

use crate::command::Settings;
use crate::event::Event;
use crate::state::State;
use common::config::policy::{self, PolicyError};
use common::id::{JobKey, QueueName};
use common::policy::queue::Queue;
use common::reason::Refusal;
use std::collections::BTreeSet;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    settings: &Settings,
) -> Result<(), Refusal> {
    let bad = |error: PolicyError| Refusal::BadAsk { message: error.to_string() };
    policy::check(&settings.policy()).map_err(bad)?;
    let names: BTreeSet<&QueueName> = settings.queues.iter().map(|q| &q.name).collect();
    let missing: BTreeSet<QueueName> =
        queues_needed_by_jobs(state, &names).into_iter().cloned().collect();
    let kept = state.queues().iter().filter(|queue| missing.contains(&queue.name));
    let kept = kept.map(|queue| Queue { default: false, ..queue.clone() });
    let mut settings = settings.clone();
    settings.queues.extend(kept.collect::<Vec<_>>());
    if state.settings.as_ref() != Some(&settings) || state.retired != missing {
        (state.settings, state.retired) = (Some(settings), missing);
        crate::charging::update_past_use_recording(state);
        events.push(Event::Configured);
    }
    Ok(())
}

/// Removes the queues that were kept for jobs which have since ended.
pub(super) fn drop_empty_retired_queues(state: &mut State, events: &mut Vec<Event>) {
    if state.retired.is_empty() {
        return;
    }
    let is_configured = |queue: &&Queue| !state.retired.contains(&queue.name);
    let configured = state.queues().iter().filter(is_configured).map(|queue| &queue.name).collect();
    let needed = queues_needed_by_jobs(state, &configured);
    let is_empty = |name: &&QueueName| !needed.contains(name);
    let gone: BTreeSet<QueueName> = state.retired.iter().filter(is_empty).cloned().collect();
    state.retired.retain(|name| !gone.contains(name));
    if let Some(settings) = state.settings.as_mut().filter(|_| !gone.is_empty()) {
        settings.queues.retain(|queue| !gone.contains(&queue.name));
        events.push(Event::Configured);
    }
}

/// The queues that jobs need besides the configured ones: the queues of unfinished jobs and the
/// ancestors of those, whose limits apply to the jobs too.
fn queues_needed_by_jobs<'a>(
    state: &'a State,
    configured: &BTreeSet<&QueueName>,
) -> BTreeSet<&'a QueueName> {
    let queue = |key: JobKey| state.job(key.job)?.spec.ask.queue.as_ref();
    let above = |name: &QueueName| {
        let queue = state.queues().iter().find(|queue| queue.name == *name)?;
        queue.parent.as_ref()
    };
    let mut needed = BTreeSet::new();
    for inhabited in state.live().filter_map(queue).collect::<BTreeSet<_>>() {
        let mut name = Some(inhabited);
        // A configured queue, or one visited before, already has its ancestors.
        while let Some(found) = name.filter(|name| !configured.contains(name)) {
            name = if needed.insert(found) { above(found) } else { None };
        }
    }
    needed
}
