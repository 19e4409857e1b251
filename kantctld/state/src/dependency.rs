//! What jobs wait for of other jobs (`--dependency`): how far each term is, whether a job may start
//! by them, and who is to be looked at again when a job moves. Told once and kept with the job, so
//! that a job stays free when what it waited for is requeued or forgotten.
//! Never starts anything; never reads a clock.
//!
//! `after`, `afterany`, `afterok`, `afternotok` and `aftercorr` are kept (a failed one opens again
//! when the other job is requeued); `singleton` is looked up each time. Source: man sbatch.

mod admit;
mod each;
mod follow;
mod hopeless;
mod look;
mod tell;
mod ties;
mod told;

pub(crate) use admit::{check_circle, meant, standing};
pub(crate) use follow::{follow, renamed};
pub use hopeless::ENDED_AT_ONCE;
pub(crate) use hopeless::end_some;
pub(crate) use tell::{reason, remaining};
pub(crate) use ties::Ties;

use crate::job::Record;
use crate::remembered::State;
use common::id::{ArrayIndex, JobKey};
use common::job::dependency::{Rule, Term};
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How far one term is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TermState {
    /// The other job is not as far; of `singleton`: as others of its name are.
    Open,
    /// It was, and with its delay it counts from then on. That stays so.
    Met(Time),
    /// The other job ended otherwise.
    Failed,
    Each {
        /// Those of its own tasks for which it is met.
        met: BTreeSet<ArrayIndex>,
        /// Those for which the other's ended otherwise.
        failed: BTreeSet<ArrayIndex>,
    },
}

/// May a job start, as far as other jobs go?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Something is still to come.
    Waits,
    /// It may, from then on; `None`: it never waited.
    Free(Option<Time>),
    /// What it waits for cannot come any more.
    Never,
}

/// May this element start, as far as other jobs go? Of many of one job, ask a [`Judge`].
#[must_use]
pub fn verdict(state: &State, record: &Record, index: Option<ArrayIndex>) -> Verdict {
    Judge::new(state, record).of(index)
}

/// Judges the elements of one job: what they share is looked at once, however many there are.
#[derive(Debug, Clone)]
pub struct Judge<'a> {
    is_any: bool,
    /// By all terms but those that go task for task.
    shared: Verdict,
    each: Vec<&'a TermState>,
}

impl<'a> Judge<'a> {
    /// Of this job, as it and others are now.
    #[must_use]
    pub fn new(state: &State, record: &'a Record) -> Self {
        let Some(dependency) = &record.spec.ask.dependency else {
            return Self { is_any: false, shared: Verdict::Free(None), each: Vec::new() };
        };
        let is_any = dependency.is_any();
        let is_each = |standing: &&TermState| matches!(standing, TermState::Each { .. });
        let terms = dependency.terms().iter().zip(&record.standing);
        let terms = terms.filter(|(_, standing)| !is_each(standing));
        let verdicts = terms.map(|(term, standing)| of_term(state, record, None, term, standing));
        let shared = join(is_any, verdicts);
        Self { is_any, shared, each: record.standing.iter().filter(is_each).collect() }
    }

    /// Does any term go task for task?
    #[must_use]
    pub(crate) fn is_task_for_task(&self) -> bool {
        !self.each.is_empty()
    }

    /// May this element start?
    #[must_use]
    pub fn of(&self, index: Option<ArrayIndex>) -> Verdict {
        let each = self.each.iter().map(|standing| of_task(standing, index));
        join(self.is_any, std::iter::once(self.shared).chain(each))
    }
}

/// By all of them together, or by the best of them. Looks no further than the answer can change.
fn join(is_any: bool, verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let (mut joined, last) = match is_any {
        true => (Verdict::Never, Verdict::Free(None)),
        false => (Verdict::Free(None), Verdict::Never),
    };
    for verdict in verdicts {
        joined = match (joined, verdict, is_any) {
            (Verdict::Free(one), Verdict::Free(other), true) => Verdict::Free(one.min(other)),
            (Verdict::Free(one), Verdict::Free(other), false) => Verdict::Free(one.max(other)),
            (free @ Verdict::Free(_), _, true) | (_, free @ Verdict::Free(_), true) => free,
            (Verdict::Never, _, false) | (_, Verdict::Never, false) => Verdict::Never,
            (Verdict::Never, Verdict::Never, true) => Verdict::Never,
            _ => Verdict::Waits,
        };
        if joined == last {
            break;
        }
    }
    joined
}

/// The same by one term alone.
fn of_term(
    state: &State,
    record: &Record,
    index: Option<ArrayIndex>,
    term: &Term,
    standing: &TermState,
) -> Verdict {
    match standing {
        TermState::Open if term.rule == Rule::Singleton => match same_name(state, record) {
            Some(_) => Verdict::Waits,
            None => Verdict::Free(None),
        },
        TermState::Open => Verdict::Waits,
        TermState::Met(at) => Verdict::Free(Some(*at)),
        TermState::Failed => Verdict::Never,
        TermState::Each { .. } => of_task(standing, index),
    }
}

/// The same by a term that goes task for task.
fn of_task(standing: &TermState, index: Option<ArrayIndex>) -> Verdict {
    match (standing, index) {
        (TermState::Each { met, .. }, Some(index)) if met.contains(&index) => Verdict::Free(None),
        (TermState::Each { failed, .. }, Some(index)) if failed.contains(&index) => Verdict::Never,
        // What is no task has no task to go by: it never starts on another's.
        _ => Verdict::Waits,
    }
}

/// The job of the same name and user that keeps a `singleton` waiting: one that was submitted
/// before it and is not over, or any that holds resources (man sbatch: only one runs at a time).
fn same_name(state: &State, record: &Record) -> Option<JobKey> {
    let (owner, name) = (record.spec.owner.uid, record.spec.ask.name.as_str());
    let others = state.ties.named(owner, name).filter(|id| *id != record.id);
    others.filter_map(|id| state.job(id)).find_map(|other| {
        let mut living = state.living.of(other.id);
        let holds = |key: &JobKey| {
            state.element(*key).is_some_and(|(_, element)| element.phase.holds_resources())
        };
        match other.id < record.id {
            true => living.next(),
            false => living.find(holds),
        }
    })
}
