//! What a job's dependencies still lack: as a reason with the progress of each, and term by term.

use super::evaluate::{elements_named, succeeded};
use super::{Verdict, singleton_blocker, term_verdict, verdict};
use crate::job::{Record, TermState};
use crate::state::State;
use common::id::{ArrayIndex, JobKey};
use common::job::Phase;
use common::job::dependency::{Rule, Term};
use common::reason::{Awaited, WaitReason};
use common::time::Time;

/// The maximum number of dependencies that a reason names.
const NAMED_MAX: usize = 3;

/// The reason why an element may not start yet, or never; `None` if its dependencies do not keep it
/// waiting.
#[must_use]
pub fn dependency_reason(
    state: &State,
    record: &Record,
    index: Option<ArrayIndex>,
) -> Option<WaitReason> {
    let dependency = record.spec.ask.dependency.as_ref()?;
    let verdict = verdict(state, record, index);
    let is_due = |at: Time| at <= state.now();
    let counts = |own: Verdict| match (verdict, own) {
        (Verdict::Never, own) => own == Verdict::Never,
        (Verdict::Waits, own) => own == Verdict::Waits,
        (Verdict::Free(_), Verdict::Free(Some(at))) => !is_due(at),
        (Verdict::Free(_), _) => false,
    };
    if let Verdict::Free(at) = verdict
        && at.is_none_or(is_due)
    {
        return None;
    }
    let of = |(term, standing): (&Term, &TermState)| {
        let own = term_verdict(state, record, index, term, standing);
        counts(own).then(|| awaited_job(state, record, index, term, own)).flatten()
    };
    let terms = || dependency.terms().iter().zip(&record.standing);
    let named: Vec<Awaited> = terms().filter_map(of).take(NAMED_MAX).collect();
    let own = |(term, standing)| term_verdict(state, record, index, term, standing);
    let all = terms().map(own).filter(|own| counts(*own)).count();
    let more = u32::try_from(all.saturating_sub(named.len())).unwrap_or(u32::MAX);
    Some(match verdict {
        Verdict::Never => WaitReason::DependencyNever { failed: named, more },
        _ => WaitReason::Dependency { open: named, more, any: dependency.is_any() },
    })
}

fn awaited_job(
    state: &State,
    record: &Record,
    index: Option<ArrayIndex>,
    term: &Term,
    own: Verdict,
) -> Option<Awaited> {
    let until = match own {
        Verdict::Free(at) => at,
        Verdict::Waits | Verdict::Never => None,
    };
    let on = term.on.or_else(|| singleton_blocker(state, record))?;
    let other = state.job(on.job);
    // Compared task by task, the other array's task with the same index counts, if there is one.
    let pair = JobKey { index: index.or(on.index), ..on };
    let is_pair =
        term.rule == Rule::AfterCorr && on.index.is_none() && state.element(pair).is_some();
    let on = if is_pair { pair } else { on };
    let (mut phase, mut outcome, mut tasks) = (None, None, None);
    if let Some((_, element)) = state.element(on) {
        (phase, outcome) = (Some(element.phase), element.outcome);
    } else if let Some(other) = other {
        let is_there = |element: &&crate::job::Element| match (own, term.rule) {
            (Verdict::Never, _) => succeeded(element),
            (_, Rule::After) => element.phase != Phase::Pending,
            _ => element.phase == Phase::Done,
        };
        let left = elements_named(other, on).filter(|element| !is_there(element)).count();
        let count = |many: usize| u32::try_from(many).unwrap_or(u32::MAX);
        tasks = Some((count(left), count(other.elements.len())));
    }
    Some(Awaited { rule: term.rule, on, phase, outcome, tasks, until })
}

/// A term of a dependency that still keeps a job waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTerm<'a> {
    pub term: &'a Term,
    /// Whether it can no longer be satisfied.
    pub has_failed: bool,
}

/// The terms that are not satisfied yet, or no longer can be; none if the dependencies do not keep
/// the element waiting.
#[must_use]
pub fn open_terms<'a>(
    state: &State,
    record: &'a Record,
    index: Option<ArrayIndex>,
) -> Vec<OpenTerm<'a>> {
    let is_due = |at: Option<Time>| at.is_none_or(|at| at <= state.now());
    let dependency = record.spec.ask.dependency.as_ref();
    let is_free = matches!(verdict(state, record, index), Verdict::Free(at) if is_due(at));
    let Some(dependency) = dependency.filter(|_| !is_free) else { return Vec::new() };
    let open = |(term, standing): (&'a Term, &TermState)| {
        let own = term_verdict(state, record, index, term, standing);
        let is_open = !matches!(own, Verdict::Free(at) if is_due(at));
        is_open.then_some(OpenTerm { term, has_failed: own == Verdict::Never })
    };
    dependency.terms().iter().zip(&record.standing).filter_map(open).collect()
}
