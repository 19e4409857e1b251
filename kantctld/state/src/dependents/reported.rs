//! The changes of whole jobs that follow from the changes of their tasks, each reported once per
//! command, with the first task that shows it. Dependents are evaluated on the state after the
//! command, so a later task adds nothing. This keeps the cost of a command proportional to its
//! size, even when it ends a large array.

use crate::dependency::last_pending;
use crate::dependency_index::Counts;
use crate::living::highest_key_of;
use crate::state::State;
use common::id::{JobId, JobKey};
use std::collections::{BTreeMap, BTreeSet};

/// How a job or array task changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    Start,
    End,
    Requeue,
}

/// The changes of whole jobs that were already reported for this command.
#[derive(Debug, Default)]
pub(super) struct ReportedChanges {
    /// Jobs of which no task waits for its start.
    started: BTreeSet<JobId>,
    /// Jobs that have ended.
    over: BTreeSet<JobId>,
    /// Jobs that were requeued.
    reopened: BTreeSet<JobId>,
    /// For each job the last task known to wait for its start. While the events of a command are
    /// followed, waiting tasks can only become fewer, so tasks after it need no second check.
    waiting: BTreeMap<JobId, Option<JobKey>>,
}

impl ReportedChanges {
    /// The changes of the whole job that a change of one of its tasks can cause.
    pub(super) fn changes_to_report(
        &mut self,
        state: &State,
        moved: JobId,
        how: Move,
    ) -> &'static [Counts] {
        match how {
            Move::End if state.is_all_done(moved) => match self.over.insert(moved) {
                // The end of a job that never started counts as a start.
                true => &[Counts::Started, Counts::Over, Counts::Each],
                false => &[],
            },
            Move::Start if self.is_first_without_waiting(state, moved) => &[Counts::Started],
            Move::Start => &[],
            Move::End if self.is_first_without_waiting(state, moved) => {
                &[Counts::Started, Counts::Each]
            }
            Move::End => &[Counts::Each],
            // The whole job is open again with the first of its requeued tasks.
            Move::Requeue => match self.reopened.insert(moved) {
                true => &[Counts::Over, Counts::Each],
                false => &[Counts::Each],
            },
        }
    }

    /// Whether no task waits for its start any more, and this was not reported yet.
    fn is_first_without_waiting(&mut self, state: &State, job: JobId) -> bool {
        let last = self.waiting.entry(job).or_insert_with(|| Some(highest_key_of(job)));
        *last = last.and_then(|last| last_pending(state, last));
        last.is_none() && self.started.insert(job)
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolve;
    use super::*;
    use crate::event::Event;
    use crate::job::{Element, Record, TermState};
    use common::blob::BlobHash;
    use common::id::{ArrayIndex, Attempt, Gid, Uid};
    use common::job::{Ask, Outcome, Owner, Phase, Spec};
    use common::time::Time;
    use std::sync::Arc;

    /// Large enough that a quadratic algorithm takes minutes, so that these tests would not end in
    /// time.
    const MANY: u32 = 100_000;

    fn element(phase: Phase, outcome: Option<Outcome>) -> Element {
        Element { phase, outcome, done_at: outcome.map(|_| Time(1)), ..Element::new(false) }
    }

    fn array(id: u32, dependency: &str, elements: impl Iterator<Item = Element>) -> Record {
        let array = Some(format!("0-{}", MANY - 1).parse().unwrap());
        let dependency = (!dependency.is_empty()).then(|| dependency.parse().unwrap());
        let ask = Ask { array, dependency, ..Ask::default() };
        let owner = Owner { uid: Uid(7), gid: Gid(7), name: "ada".to_owned() };
        let (script, environment) = (BlobHash::of(b""), BlobHash::of(b""));
        Record {
            id: JobId(id),
            numbers: 0,
            set: None,
            spec: Spec { owner, script, environment, ask },
            groups: Vec::new(),
            via: None,
            submitted_at: Time(0),
            expected: None,
            standing: Vec::new(),
            timeline: Vec::new(),
            elements: (0..).map(|index| Some(ArrayIndex(index))).zip(elements).collect(),
        }
    }

    fn state_of(records: [Record; 2]) -> State {
        let mut state = State::default();
        for record in records {
            state.jobs.insert(record.id, Arc::new(record));
        }
        state.build_indexes();
        state
    }

    fn many(phase: Phase, outcome: Option<Outcome>) -> impl Iterator<Item = Element> {
        std::iter::repeat_n(element(phase, outcome), MANY as usize)
    }

    fn waits(dependency: &str, standing: TermState) -> Record {
        Record { standing: vec![standing], ..array(2, dependency, many(Phase::Pending, None)) }
    }

    fn key(index: u32) -> JobKey {
        JobKey { job: JobId(1), index: Some(ArrayIndex(index)) }
    }

    fn done(index: u32) -> Event {
        let outcome = Outcome::Cancelled;
        Event::JobDone { key: key(index), attempt: Attempt(0), outcome, by: None }
    }

    /// Follows the events and returns how many reports of changed dependencies that causes.
    fn moves(state: &mut State, events: impl Iterator<Item = Event>) -> usize {
        let mut events: Vec<Event> = events.collect();
        resolve(state, &mut events, 0);
        events.iter().filter(|event| matches!(event, Event::DependencyMoved { .. })).count()
    }

    #[test]
    fn an_array_that_another_follows_task_for_task_is_over_once() {
        let none = TermState::Each { met: BTreeSet::new(), failed: BTreeSet::new() };
        let over = array(1, "", many(Phase::Done, Some(Outcome::Cancelled)));
        let mut state = state_of([over, waits("aftercorr:1", none)]);
        assert_eq!(moves(&mut state, (0..MANY).map(done)), 1);
        let failed = (0..MANY).map(ArrayIndex).collect();
        let standing = &state.job(JobId(2)).unwrap().standing;
        assert_eq!(*standing, [TermState::Each { met: BTreeSet::new(), failed }]);
    }

    #[test]
    fn an_array_that_lives_again_task_by_task_is_opened_task_by_task() {
        let failed = (0..MANY).map(ArrayIndex).collect();
        let failed = TermState::Each { met: BTreeSet::new(), failed };
        let open = array(1, "", many(Phase::Pending, None));
        let mut state = state_of([open, waits("aftercorr:1", failed)]);
        let again = (0..MANY).map(|index| Event::JobRequeued {
            key: key(index),
            attempt: Attempt(0),
            preempted_by: None,
        });
        assert_eq!(moves(&mut state, again), MANY as usize);
        let none = TermState::Each { met: BTreeSet::new(), failed: BTreeSet::new() };
        assert_eq!(state.job(JobId(2)).unwrap().standing, [none]);
    }

    #[test]
    fn what_runs_of_an_array_whose_waiting_tasks_are_dropped_is_passed_over_once() {
        let half = MANY / 2;
        let runs = many(Phase::Completing, None).take(half as usize);
        let dropped = many(Phase::Done, Some(Outcome::Cancelled)).take(half as usize);
        let mut state =
            state_of([array(1, "", runs.chain(dropped)), waits("after:1", TermState::Open)]);
        assert_eq!(moves(&mut state, (half..MANY).map(done)), 1);
        assert!(matches!(state.job(JobId(2)).unwrap().standing[..], [TermState::Met(_)]));
    }

    #[test]
    fn what_waits_before_many_that_run_is_found_once() {
        let half = MANY / 2;
        let first = std::iter::once(element(Phase::Pending, None));
        let runs = many(Phase::Running, None).take(half as usize);
        let dropped = many(Phase::Done, Some(Outcome::Cancelled)).take(half as usize - 1);
        let all = array(1, "", first.chain(runs).chain(dropped));
        let mut state = state_of([all, waits("after:1", TermState::Open)]);
        assert_eq!(moves(&mut state, (half + 1..MANY).map(done)), 0);
        assert_eq!(state.job(JobId(2)).unwrap().standing, [TermState::Open]);
    }

    #[test]
    fn an_array_that_did_not_do_its_work_is_looked_through_once() {
        let half = MANY / 2;
        let well = many(Phase::Done, Some(Outcome::Completed)).take(half as usize);
        let dropped = many(Phase::Done, Some(Outcome::Cancelled)).take(half as usize);
        let mut state =
            state_of([array(1, "", well.chain(dropped)), waits("afterok:1", TermState::Open)]);
        assert_eq!(moves(&mut state, (half..MANY).map(done)), 1);
        assert_eq!(state.job(JobId(2)).unwrap().standing, [TermState::Failed]);
    }
}
