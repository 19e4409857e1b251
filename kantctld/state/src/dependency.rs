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
mod look;
mod tell;
mod ties;

pub(crate) use admit::{check_circle, meant, standing};
pub(crate) use follow::follow;
pub(crate) use tell::{reason, remaining};
pub(crate) use ties::Ties;

use crate::job::Record;
use crate::remembered::State;
use common::id::{ArrayIndex, JobKey};
use common::job::Phase;
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
    /// Task for task.
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

/// May this element start, as far as other jobs go?
#[must_use]
pub fn verdict(state: &State, record: &Record, index: Option<ArrayIndex>) -> Verdict {
    let Some(dependency) = &record.spec.ask.dependency else { return Verdict::Free(None) };
    let terms = || {
        let terms = dependency.terms().iter().zip(&record.standing);
        terms.map(|(term, standing)| of_term(state, record, index, term, standing))
    };
    let at = |verdict: Verdict| match verdict {
        Verdict::Free(at) => Some(at),
        Verdict::Waits | Verdict::Never => None,
    };
    if dependency.is_any() {
        return match terms().filter_map(at).min() {
            Some(at) => Verdict::Free(at),
            None if terms().all(|verdict| verdict == Verdict::Never) => Verdict::Never,
            None => Verdict::Waits,
        };
    }
    let mut latest = None;
    let mut waits = false;
    for verdict in terms() {
        match verdict {
            Verdict::Never => return Verdict::Never,
            Verdict::Waits => waits = true,
            Verdict::Free(at) => latest = latest.max(at),
        }
    }
    if waits { Verdict::Waits } else { Verdict::Free(latest) }
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
        TermState::Each { met, failed } => {
            let index = index.unwrap_or_default();
            if met.contains(&index) {
                Verdict::Free(None)
            } else if failed.contains(&index) {
                Verdict::Never
            } else {
                Verdict::Waits
            }
        }
    }
}

/// The job of the same name and user that keeps a `singleton` waiting: one that was submitted
/// before it and is not over, or any that holds resources (man sbatch: only one runs at a time).
fn same_name(state: &State, record: &Record) -> Option<JobKey> {
    let (owner, name) = (record.spec.owner.uid, record.spec.ask.name.as_str());
    let others = state.ties.named(owner, name).filter(|id| *id != record.id);
    others.filter_map(|id| state.job(id)).find_map(|other| {
        let in_the_way = |phase: Phase| match other.id < record.id {
            true => phase != Phase::Done,
            false => phase.holds_resources(),
        };
        let found = other.elements.iter().find(|(_, element)| in_the_way(element.phase));
        found.map(|(index, _)| other.key(*index))
    })
}
