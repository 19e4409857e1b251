//! `Configure`: the leader's settings, for all replicas alike. Refused if they make no sense, or
//! would leave a living job without its queue. Never touches a job.

use crate::command::Settings;
use crate::event::Event;
use crate::remembered::State;
use common::id::QueueName;
use common::reason::Refusal;
use std::collections::{BTreeMap, BTreeSet};

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
    if let Some((name, jobs)) = orphans(state, &names).into_iter().next() {
        return bad(format!(
            "queue `{name}` still has {jobs} jobs that are not done: keep it in the configuration \
             until they are, or cancel them first"
        ));
    }
    if state.settings.as_ref() != Some(settings) {
        state.settings = Some(settings.clone());
        events.push(Event::Configured);
    }
    Ok(())
}

/// Queues that would vanish under living jobs, with how many each.
fn orphans<'a>(state: &'a State, names: &BTreeSet<&QueueName>) -> BTreeMap<&'a QueueName, usize> {
    let mut orphans = BTreeMap::new();
    for key in state.live() {
        let queue = state.job(key.job).and_then(|record| record.spec.ask.queue.as_ref());
        if let Some(queue) = queue.filter(|q| !names.contains(q)) {
            *orphans.entry(queue).or_insert(0) += 1;
        }
    }
    orphans
}
