//! Judge of promised starts: in quiet times, a job starts no later than promised. Other changes of
//! jobs or nodes, and a change of leader, end all promises, because the round could not know of
//! them. Only promises of the highest queue with waiting jobs are judged, because other queues give
//! way to it.

use super::Complaint;
use common::id::{ControllerId, JobKey};
use common::job::Phase;
use common::time::{Span, Time};
use engine::{Round, Snapshot};
use state::{Event, State};
use std::collections::BTreeMap;

/// How late a promised start may be: an end is reported late, and a round waits for its entry.
const SLACK: Span = Span::from_seconds(5);
/// How long after its time limit a job may take to end. A job that takes longer overruns.
const OVERRUN: Span = Span::from_seconds(1);

/// Promised starts, and the leader that made them.
#[derive(Debug, Default)]
pub struct PromiseJudge {
    pub complaints: Vec<Complaint>,
    by: Option<(ControllerId, u64)>,
    promised: BTreeMap<JobKey, Time>,
}

impl PromiseJudge {
    /// Records the promises of a leader's last round, and checks those that are due in this state.
    pub fn look(
        &mut self,
        by: (ControllerId, u64),
        (snapshot, round): (&Snapshot, &Round),
        state: &State,
    ) {
        let now = state.now();
        let overruns = |ends_by: Option<Time>| ends_by.is_some_and(|ends| ends + OVERRUN < now);
        if self.by != Some(by) {
            self.promised.clear();
            self.by = Some(by);
        }
        if snapshot.all_running().any(|job| overruns(job.ends_by)) {
            return self.promised.clear();
        }
        let priority = |queue| state.queue(queue).map(|queue| queue.priority);
        let highest = snapshot.all_waiting().map(|job| priority(&job.queue)).max();
        for (key, promise) in &round.planned_starts {
            let waits = state.element(*key).is_some_and(|(_, e)| e.phase == Phase::Pending);
            let Some(job) = snapshot.waiting_job(*key).filter(|_| waits) else { continue };
            let others = snapshot.all_waiting().filter(|other| other.queue == job.queue);
            let all_may_start =
                others.into_iter().all(|other| !other.held && other.earliest_start().is_none());
            if promise.yielded || Some(priority(&job.queue)) != highest || !all_may_start {
                continue;
            }
            let at = self.promised.entry(*key).or_insert(promise.at);
            *at = promise.at.min(*at);
        }
        for (key, at) in self.promised.iter().filter(|(_, at)| **at + SLACK < now) {
            let why = round.waits.reason_of(snapshot, *key);
            let text = format!(
                "job {key} was promised a start by {at}, it is {now}, and it waits: {why:?}"
            );
            self.complaints.push(Complaint::new("promises", text));
        }
    }

    /// Handles an event of the log, at its first application.
    pub fn read(&mut self, event: &Event) {
        match event {
            Event::JobStarted { id, .. } => drop(self.promised.remove(&id.key)),
            Event::JobDone { key, .. } => drop(self.promised.remove(key)),
            Event::StepReported { .. }
            | Event::JobReady { .. }
            | Event::JobRunning { .. }
            | Event::JobEnded { .. }
            | Event::JobForgotten { .. }
            | Event::SubmitRefused { .. }
            | Event::CommandRefused(_) => {}
            _ => self.promised.clear(),
        }
    }
}
