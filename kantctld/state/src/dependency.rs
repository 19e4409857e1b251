//! Dependencies of jobs on other jobs (`--dependency`): the state of each term, and whether a job
//! may start. The state of a term is stored with the dependent job, so that the job stays free to
//! start when the job that it waited for is requeued or forgotten.
//!
//! The states of `after`, `afterany`, `afterok`, `afternotok` and `aftercorr` are stored (a failed
//! term opens again when the other job is requeued). `singleton` is evaluated each time. Source:
//! man sbatch.

mod admit;
mod describe;
mod evaluate;

pub(crate) use admit::{check_circle, resolved_dependencies, term_states};
pub use describe::{OpenTerm, dependency_reason, open_terms};
pub(crate) use evaluate::{evaluate, evaluate_each, last_pending, succeeded};

use crate::job::{Record, TermState};
use crate::state::State;
use common::id::{ArrayIndex, JobKey};
use common::job::dependency::{Rule, Term};
use common::time::Time;

/// Whether a job's dependencies let it start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Some dependency is not satisfied yet.
    Waits,
    /// The job may start from this time on; `None` if it never had to wait.
    Free(Option<Time>),
    /// The dependencies can no longer be satisfied.
    Never,
}

/// Whether the dependencies of this element let it start. For many elements of one job, use a
/// [`Judge`].
#[must_use]
pub fn verdict(state: &State, record: &Record, index: Option<ArrayIndex>) -> Verdict {
    Judge::new(state, record).verdict_of(index)
}

/// Evaluates the dependencies of a job's elements. What they share is evaluated only once.
#[derive(Debug, Clone)]
pub struct Judge<'a> {
    is_any: bool,
    /// The verdict of all terms that do not compare task by task.
    shared: Verdict,
    each: Vec<&'a TermState>,
}

impl<'a> Judge<'a> {
    /// Evaluates a job's dependencies on the current state.
    #[must_use]
    pub fn new(state: &State, record: &'a Record) -> Self {
        let Some(dependency) = &record.spec.ask.dependency else {
            return Self { is_any: false, shared: Verdict::Free(None), each: Vec::new() };
        };
        let is_any = dependency.is_any();
        let is_each = |standing: &&TermState| matches!(standing, TermState::Each { .. });
        let terms = dependency.terms().iter().zip(&record.standing);
        let terms = terms.filter(|(_, standing)| !is_each(standing));
        let verdicts =
            terms.map(|(term, standing)| term_verdict(state, record, None, term, standing));
        let shared = join(is_any, verdicts);
        Self { is_any, shared, each: record.standing.iter().filter(is_each).collect() }
    }

    /// Whether any term compares task by task.
    #[must_use]
    pub(crate) fn is_task_for_task(&self) -> bool {
        !self.each.is_empty()
    }

    /// Whether this element may start.
    #[must_use]
    pub fn verdict_of(&self, index: Option<ArrayIndex>) -> Verdict {
        let each = self.each.iter().map(|standing| task_verdict(standing, index));
        join(self.is_any, std::iter::once(self.shared).chain(each))
    }
}

/// Combines the verdicts of all terms, or takes the best one if any term suffices. Stops as soon as
/// the result is certain.
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

/// The verdict of one term.
fn term_verdict(
    state: &State,
    record: &Record,
    index: Option<ArrayIndex>,
    term: &Term,
    standing: &TermState,
) -> Verdict {
    match standing {
        TermState::Open if term.rule == Rule::Singleton => match singleton_blocker(state, record) {
            Some(_) => Verdict::Waits,
            None => Verdict::Free(None),
        },
        TermState::Open => Verdict::Waits,
        TermState::Met(at) => Verdict::Free(Some(*at)),
        TermState::Failed => Verdict::Never,
        TermState::Each { .. } => task_verdict(standing, index),
    }
}

/// The verdict of a term that compares task by task.
fn task_verdict(standing: &TermState, index: Option<ArrayIndex>) -> Verdict {
    match (standing, index) {
        (TermState::Each { met, .. }, Some(index)) if met.contains(&index) => Verdict::Free(None),
        (TermState::Each { failed, .. }, Some(index)) if failed.contains(&index) => Verdict::Never,
        // An element that is no array task never starts by another array's task.
        _ => Verdict::Waits,
    }
}

/// The job of the same name and user that keeps a `singleton` waiting: an earlier submission that
/// has not ended, or any that holds resources (man sbatch: only one runs at a time).
fn singleton_blocker(state: &State, record: &Record) -> Option<JobKey> {
    let (owner, name) = (record.spec.owner.uid, record.spec.ask.name.as_str());
    let others = state.dependency_index.named(owner, name).filter(|id| *id != record.id);
    others.filter_map(|id| state.job(id)).find_map(|other| {
        let mut living = state.living.keys_of_job(other.id);
        let holds = |key: &JobKey| {
            state.element(*key).is_some_and(|(_, element)| element.phase.holds_resources())
        };
        match other.id < record.id {
            true => living.next(),
            false => living.find(holds),
        }
    })
}
