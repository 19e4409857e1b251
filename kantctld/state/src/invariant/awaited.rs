//! Checks that no job starts before its dependencies are satisfied, judged by the observed history
//! of the other jobs and not by the states of the terms. Past outcomes count: a job that succeeded
//! and was requeued has succeeded.

use crate::job::Record;
use crate::state::State;
use common::id::{ArrayIndex, JobId, JobKey};
use common::job::dependency::{Rule, Term};
use common::job::{Outcome, Phase};
use common::time::Time;
use std::collections::BTreeMap;

/// The observed history of a job or array task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Past {
    /// When it first started, or ended without a start.
    started: Option<Time>,
    went_well: bool,
    went_badly: bool,
}

/// The observed history of all jobs, including forgotten ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Witness {
    pasts: BTreeMap<JobKey, Past>,
}

impl Witness {
    pub(super) fn new(state: &State) -> Self {
        let mut witness = Self::default();
        for record in state.jobs() {
            for (index, element) in &record.elements {
                let key = JobKey { job: record.id, index: *index };
                witness.note_submitted(key);
                if element.attempt.0 > 0 {
                    witness.note_started(key, record.submitted_at);
                }
                if let Some(outcome) = element.outcome {
                    witness.note_ended(key, outcome, record.submitted_at);
                }
            }
        }
        witness
    }

    pub(super) fn note_submitted(&mut self, key: JobKey) {
        self.pasts.entry(key).or_default();
    }

    pub(super) fn note_started(&mut self, key: JobKey, at: Time) {
        let past = self.pasts.entry(key).or_default();
        past.started = past.started.or(Some(at));
    }

    pub(super) fn note_ended(&mut self, key: JobKey, outcome: Outcome, at: Time) {
        self.note_started(key, at);
        let past = self.pasts.entry(key).or_default();
        match outcome {
            Outcome::Completed => past.went_well = true,
            _ => past.went_badly = true,
        }
    }

    /// The violation by this job's start, if any. `phases` holds the phases of all jobs.
    pub(super) fn judge_start<P>(
        &self,
        state: &State,
        key: JobKey,
        phases: &BTreeMap<JobKey, (Phase, P)>,
    ) -> Option<String> {
        let record = state.job(key.job)?;
        let dependency = record.spec.ask.dependency.as_ref()?;
        let holds = |term: &&Term| match term.on {
            Some(on) => self.has_come(term, on, key.index, state.now()),
            None => runs_alone(state, record, phases),
        };
        let terms = dependency.terms();
        let fine = match dependency.is_any() {
            true => terms.iter().any(|term| holds(&term)),
            false => terms.iter().all(|term| holds(&term)),
        };
        (!fine).then(|| format!("job {key} started, and waits for {dependency}"))
    }

    fn has_come(&self, term: &Term, on: JobKey, own: Option<ArrayIndex>, now: Time) -> bool {
        let all = |job: JobId| {
            let range = JobKey::single(job)..=JobKey { job, index: Some(ArrayIndex(u32::MAX)) };
            self.pasts.range(range).map(|(_, past)| past)
        };
        let one = |key: JobKey| self.pasts.get(&key);
        let is_rule = |past: &Past| match term.rule {
            Rule::After => past.started.is_some_and(|at| at + term.delay <= now),
            Rule::AfterAny => past.went_well || past.went_badly,
            Rule::AfterOk | Rule::AfterCorr => past.went_well,
            Rule::AfterNotOk => past.went_badly,
            Rule::Singleton => false,
        };
        if all(on.job).next().is_none() {
            // It was forgotten before the observation began.
            return true;
        }
        match (term.rule, on.index) {
            (_, Some(_)) => one(on).is_some_and(is_rule),
            (Rule::AfterNotOk, None) => all(on.job).any(is_rule),
            (Rule::AfterCorr, None) => match one(JobKey { index: own, ..on }) {
                Some(past) => is_rule(past),
                None => all(on.job).all(is_rule),
            },
            _ => all(on.job).all(is_rule),
        }
    }
}

/// Whether no other job of the same name and user holds resources, or has waited for longer.
/// Components of the same set start together and do not count (man sbatch, `singleton`).
fn runs_alone<P>(state: &State, record: &Record, phases: &BTreeMap<JobKey, (Phase, P)>) -> bool {
    let (owner, name) = (record.spec.owner.uid, &record.spec.ask.name);
    let first = record.set.map(|set| set.first);
    phases.iter().filter(|(key, _)| key.job != record.id).all(|(key, (phase, _))| {
        let Some(other) = state.job(key.job) else { return true };
        let is_other = other.spec.owner.uid != owner || other.spec.ask.name != *name;
        let is_sibling = other.set.is_some_and(|set| Some(set.first) == first);
        let before = key.job < record.id && *phase == Phase::Pending;
        is_other || is_sibling || !(before || phase.holds_resources())
    })
}
