//! The cancellation of jobs whose dependencies can no longer be satisfied, if they asked for that.
//! One command cancels a limited number of tasks and later ones the rest: nothing else is applied
//! meanwhile, and an array may have a hundred thousand tasks.

use crate::dependency::{self, Judge, Verdict, verdict};
use crate::event::Event;
use crate::job::Record;
use crate::lifecycle;
use crate::state::State;
use crate::timeline::{self, TimelineEvent};
use common::id::{JobId, JobKey};
use common::job::{Outcome, Phase};

/// The maximum number of tasks that one command cancels through changes of whole jobs.
pub const ENDED_AT_ONCE: usize = 1000;

impl State {
    /// Whether tasks are left for an `EndHopeless`.
    #[must_use]
    pub fn has_hopeless(&self) -> bool {
        !self.hopeless.is_empty()
    }
}

/// Cancels tasks that earlier commands left, up to the limit of one command.
pub(crate) fn end_some(state: &mut State, events: &mut Vec<Event>) {
    let mut left = ENDED_AT_ONCE;
    while left > 0
        && let Some(job) = state.hopeless.first().copied()
    {
        end_all(state, events, job, &mut left);
    }
}

/// Cancels the elements of a job that can never start, if the job asked for that; at most `left` of
/// them. What they share is evaluated and described only once.
pub(super) fn end_all(state: &mut State, events: &mut Vec<Event>, job: JobId, left: &mut usize) {
    state.hopeless.remove(&job);
    let Some(record) = state.jobs.get(&job).filter(|r| r.spec.ask.kill_on_invalid_dependency)
    else {
        return;
    };
    let judge = Judge::new(state, record);
    let waits = |key: &JobKey| {
        let element = record.elements.get(&key.index);
        element.is_some_and(|element| element.phase == Phase::Pending)
    };
    let is_hopeless = |key: &JobKey| judge.verdict_of(key.index) == Verdict::Never && waits(key);
    let mut hopeless: Vec<JobKey> =
        state.living.keys_of_job(job).filter(is_hopeless).take(*left + 1).collect();
    let shared = (!judge.is_task_for_task())
        .then(|| hopeless.first().map(|key| why(state, record, *key)))
        .flatten();
    if hopeless.len() > *left {
        hopeless.truncate(*left);
        state.hopeless.insert(job);
    }
    *left -= hopeless.len();
    for key in hopeless {
        let why = match (&shared, state.job(job)) {
            (Some(why), _) => why.clone(),
            (None, Some(record)) => why(state, record, key),
            (None, None) => return,
        };
        end(state, events, key, why);
    }
}

/// Cancels one element that can never start, if its job asked for that.
pub(super) fn end_one(state: &mut State, events: &mut Vec<Event>, key: JobKey) {
    let Some((record, _)) = state.element(key) else { return };
    let asked = record.spec.ask.kill_on_invalid_dependency;
    if asked && verdict(state, record, key.index) == Verdict::Never {
        let why = why(state, record, key);
        end(state, events, key, why);
    }
}

fn why(state: &State, record: &Record, key: JobKey) -> String {
    let reason = dependency::dependency_reason(state, record, key.index);
    reason.map(|reason| reason.to_string()).unwrap_or_default()
}

fn end(state: &mut State, events: &mut Vec<Event>, key: JobKey, why: String) {
    let now = state.now;
    let Some(element) = state.element_mut(key).filter(|e| e.phase == Phase::Pending) else {
        return;
    };
    timeline::add(&mut element.timeline, now, TimelineEvent::Hopeless { why });
    lifecycle::drop_waiting(state, events, key, Outcome::Cancelled, None);
}
