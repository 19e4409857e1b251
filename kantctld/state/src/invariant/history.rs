//! The invariants of changes: every change of phase is in the table and was announced by an event,
//! ids and time only increase, attempts increase by one, and an accepted job stays until it has
//! ended.

use super::awaited::Witness;
use crate::event::Event;
use crate::state::State;
use common::id::{Attempt, JobId, JobKey};
use common::job::Phase;
use common::job::state::{Change, TRANSITIONS};
use common::time::Time;
use std::collections::BTreeMap;

/// Observes a state over time. Create it with [`Judge::new`], then pass it every answer of `apply`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judge {
    now: Time,
    last_job: JobId,
    seen: BTreeMap<JobKey, (Phase, Attempt)>,
    witness: Witness,
}

impl Judge {
    /// Starts the observation at this state.
    #[must_use]
    pub fn new(state: &State) -> Self {
        let (seen, witness) = (phases(state), Witness::new(state));
        Self { now: state.now(), last_job: state.last_job_id(), seen, witness }
    }

    /// Every violation in this state, or in the step from the last state that was passed.
    pub fn check_step(&mut self, state: &State, events: &[Event]) -> Vec<String> {
        let mut wrong = super::check(state);
        if state.now() < self.now {
            wrong.push(format!("time went back from {} to {}", self.now, state.now()));
        }
        for event in events {
            self.follow(event, state, &mut wrong);
        }
        let actual = phases(state);
        for (key, reported) in &self.seen {
            match actual.get(key) {
                None => wrong.push(format!("job {key} vanished without an event")),
                Some(is) if is != reported => {
                    wrong.push(format!("job {key} was reported as {reported:?} and is {is:?}"));
                }
                Some(_) => {}
            }
        }
        for key in actual.keys().filter(|key| !self.seen.contains_key(key)) {
            wrong.push(format!("job {key} appeared without an event"));
        }
        if events.iter().any(|event| matches!(event, Event::CommandRefused(_))) && events.len() > 1
        {
            wrong.push("a refused command changed something".to_owned());
        }
        (self.now, self.last_job, self.seen) = (state.now(), state.last_job_id(), actual);
        wrong
    }

    fn follow(&mut self, event: &Event, state: &State, wrong: &mut Vec<String>) {
        let step = match event {
            Event::JobSubmitted { job, repeated: false, .. } => {
                self.check_submitted(*job, state, wrong);
                None
            }
            Event::JobForgotten { job } => {
                self.check_forgotten(*job, wrong);
                None
            }
            Event::JobStarted { id, .. } => {
                let attempt = self.seen.get(&id.key).map_or(Attempt(0), |(_, attempt)| *attempt);
                if id.attempt.0 != attempt.0 + 1 {
                    wrong.push(format!("{id} follows attempt {attempt}"));
                }
                wrong.extend(self.witness.judge_start(state, id.key, &self.seen));
                self.witness.note_started(id.key, state.now());
                Some((id.key, Change::Start, id.attempt))
            }
            Event::JobRunning { id } => Some((id.key, Change::Run, id.attempt)),
            Event::JobSuspended { id, .. } => Some((id.key, Change::Suspend, id.attempt)),
            Event::JobResumed { id, .. } => Some((id.key, Change::Resume, id.attempt)),
            Event::JobEnded { id, .. } => Some((id.key, Change::End, id.attempt)),
            Event::JobRequeued { key, attempt, .. } => Some((*key, Change::Requeue, *attempt)),
            Event::JobDone { key, attempt, outcome, .. } => {
                self.witness.note_ended(*key, *outcome, state.now());
                let waiting = self.seen.get(key).is_some_and(|(p, _)| *p == Phase::Pending);
                let change = if waiting { Change::Drop } else { Change::Finish };
                Some((*key, change, *attempt))
            }
            _ => None,
        };
        if let Some((key, change, attempt)) = step {
            self.check_transition(key, change, attempt, wrong);
        }
    }

    fn check_transition(
        &mut self,
        key: JobKey,
        by: Change,
        attempt: Attempt,
        wrong: &mut Vec<String>,
    ) {
        let Some((phase, seen)) = self.seen.get_mut(&key) else {
            wrong.push(format!("something happened to job {key}, which is unknown"));
            return;
        };
        let row = TRANSITIONS.iter().find(|(from, change, _)| from == phase && *change == by);
        match row {
            Some((_, _, to)) => *phase = *to,
            None => wrong.push(format!("job {key}: {by:?} is not allowed in {phase}")),
        }
        if by == Change::Start {
            *seen = attempt;
        } else if *seen != attempt {
            wrong.push(format!("job {key}: {by:?} of attempt {attempt}, but it is at {seen}"));
        }
    }

    fn check_submitted(&mut self, job: JobId, state: &State, wrong: &mut Vec<String>) {
        if job <= self.last_job {
            wrong.push(format!("job id {job} was given before"));
        }
        for (key, _) in phases(state).range(JobKey::single(job)..) {
            if key.job != job {
                break;
            }
            self.seen.insert(*key, (Phase::Pending, Attempt(0)));
            self.witness.note_submitted(*key);
        }
        if state.job(job).is_none() {
            wrong.push(format!("job {job} was accepted and is not there"));
        }
    }

    fn check_forgotten(&mut self, job: JobId, wrong: &mut Vec<String>) {
        let gone: Vec<JobKey> = self.seen.keys().copied().filter(|key| key.job == job).collect();
        for key in gone {
            if self.seen.remove(&key).is_some_and(|(phase, _)| phase != Phase::Done) {
                wrong.push(format!("job {key} was forgotten before it was over"));
            }
        }
    }
}

/// The phase and attempt of each job and array task.
fn phases(state: &State) -> BTreeMap<JobKey, (Phase, Attempt)> {
    let mut seen = BTreeMap::new();
    for record in state.jobs() {
        for (index, element) in &record.elements {
            let key = JobKey { job: record.id, index: *index };
            seen.insert(key, (element.phase, element.attempt));
        }
    }
    seen
}
