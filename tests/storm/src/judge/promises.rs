//! Judges the leader's promises: in quiet times a job starts when it was promised to, at the
//! latest. Never blames a round for what it could not know: whatever else happens to jobs or nodes,
//! and a change of leaders, ends all promises. Only those of the highest queue in which jobs wait
//! are judged: others give way to it.

use super::Complaint;
use common::id::{ControllerId, JobKey};
use common::job::Phase;
use common::time::{Span, Time};
use engine::{Round, Snapshot};
use state::{Event, State};
use std::collections::BTreeMap;

/// So much later is in time: an end is reported late, a round waits for its entry.
const SLACK: Span = Span::from_seconds(5);
/// So long after its limit a job is on its way out; one that is there for longer overruns.
const OVERRUN: Span = Span::from_seconds(1);

/// What was promised, and by whom.
#[derive(Debug, Default)]
pub struct PromiseJudge {
    /// What is wrong so far.
    pub complaints: Vec<Complaint>,
    by: Option<(ControllerId, u64)>,
    promised: BTreeMap<JobKey, Time>,
}

impl PromiseJudge {
    /// What the leader of a term last saw and said, and the state that the log came to.
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
        for (key, promise) in &round.promises {
            let waits = state.element(*key).is_some_and(|(_, e)| e.phase == Phase::Pending);
            let Some(job) = snapshot.waiting(*key).filter(|_| waits) else { continue };
            let others = snapshot.all_waiting().filter(|other| other.queue == job.queue);
            let all_may_start =
                others.into_iter().all(|other| !other.held && other.gate().is_none());
            if promise.yielded || Some(priority(&job.queue)) != highest || !all_may_start {
                continue;
            }
            let at = self.promised.entry(*key).or_insert(promise.at);
            *at = promise.at.min(*at);
        }
        for (key, at) in self.promised.iter().filter(|(_, at)| **at + SLACK < now) {
            let why = round.waits.of(snapshot, *key);
            let text = format!(
                "job {key} was promised a start by {at}, it is {now}, and it waits: {why:?}"
            );
            self.complaints.push(Complaint::new("promises", text));
        }
    }

    /// Reads an event that the log came to for the first time.
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
