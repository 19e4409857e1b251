//! The registry of this node's steps: the phase of each, and a channel of phase changes.

use super::liveness::LivenessFailure;
use super::overuse::GpuOveruse;
use common::id::{AttemptId, TaskNumber};
use common::job::SignalNumber;
use common::sync::Mutex;
use common::time::Span;
use common::wire::node::{Reached, StepPhase, StepStatus, TaskState};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};

/// A request to a step's driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepRequest {
    Go,
    Suspend,
    Resume,
    /// Apply this time limit.
    Limit(Span),
    /// Apply the job's new size, which lies in the step's directory under this number.
    Resize(u32),
    Stop,
    Forget,
    /// Start the program whose spec lies in the step's directory.
    Task(TaskNumber),
    /// Send a signal to such a program.
    Signal(TaskNumber, SignalNumber),
    /// Send a signal to the job's processes.
    SignalJob(SignalNumber, Reached),
    /// End the step because it uses more of a GPU's memory than its share.
    Overuse(GpuOveruse),
    /// End a replica of a service, which is not live.
    NotLive(LivenessFailure),
}

#[derive(Debug)]
struct Entry {
    phase: StepPhase,
    driver: mpsc::UnboundedSender<StepRequest>,
    /// Programs started in the step, as its supervisor reports them.
    tasks: BTreeMap<TaskNumber, TaskState>,
    /// Number of starts in each [`StartStage`].
    starts: [usize; 2],
}

/// A step's phase and the state of one program in it; `None` if there is no such step.
pub type ProgramView = Option<(StepPhase, Option<TaskState>)>;

/// How far the start of a program has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartStage {
    Queued,
    /// The supervisor has its spec.
    Launching,
}

/// All steps, by attempt.
#[derive(Debug)]
pub struct StepRegistry {
    entries: Mutex<BTreeMap<AttemptId, Entry>>,
    changes: mpsc::UnboundedSender<StepStatus>,
    /// Notified when a prolog or an epilog fails.
    hook_failed: Arc<Notify>,
    /// Notified when a phase or a program's state changes.
    changed: Arc<Notify>,
}

impl StepRegistry {
    /// An empty registry that sends phase changes to this channel.
    pub fn new(changes: mpsc::UnboundedSender<StepStatus>) -> Self {
        Self {
            entries: Mutex::default(),
            changes,
            hook_failed: Arc::default(),
            changed: Arc::default(),
        }
    }

    /// Notified when a prolog or an epilog fails.
    pub fn hook_failure_notify(&self) -> Arc<Notify> {
        Arc::clone(&self.hook_failed)
    }

    /// Notified when a phase or a program's state changes.
    pub fn change_notify(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    /// Adds a step and returns the receiver of its requests; `None` if the step is known already.
    pub fn add(
        &self,
        id: AttemptId,
        phase: StepPhase,
    ) -> Option<mpsc::UnboundedReceiver<StepRequest>> {
        let mut entries = self.entries.lock();
        if entries.contains_key(&id) {
            return None;
        }
        let (driver, requests) = mpsc::unbounded_channel();
        self.publish(id, phase.clone());
        entries.insert(id, Entry { phase, driver, tasks: BTreeMap::new(), starts: [0; 2] });
        Some(requests)
    }

    /// Sets a step's phase; publishes it if it changed.
    pub fn set(&self, id: AttemptId, phase: StepPhase) {
        if let Some(entry) = self.entries.lock().get_mut(&id)
            && entry.phase != phase
        {
            entry.phase = phase.clone();
            self.publish(id, phase);
            self.changed.notify_waiters();
        }
    }

    /// Sets the state of a program in a step; `None` removes the program.
    pub fn set_task(&self, id: AttemptId, task: TaskNumber, state: Option<TaskState>) {
        let mut entries = self.entries.lock();
        let Some(entry) = entries.get_mut(&id) else { return };
        match state {
            Some(state) => drop(entry.tasks.insert(task, state)),
            None => drop(entry.tasks.remove(&task)),
        }
        drop(entries);
        self.changed.notify_waiters();
    }

    /// Reserves a start in a stage; `None` if `most` are in it already, or there is no such step.
    pub fn reserve_start(
        &self,
        id: AttemptId,
        stage: StartStage,
        most: usize,
    ) -> Option<StartReservation<'_>> {
        let mut entries = self.entries.lock();
        let count = &mut entries.get_mut(&id)?.starts[stage as usize];
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(StartReservation { registry: self, id, stage })
    }

    /// Forgets a step's programs, because its supervisor is about to report all that it knows.
    pub fn forget_tasks(&self, id: AttemptId) {
        if let Some(entry) = self.entries.lock().get_mut(&id) {
            entry.tasks.clear();
        }
    }

    pub fn phase(&self, id: AttemptId) -> Option<StepPhase> {
        self.entries.lock().get(&id).map(|entry| entry.phase.clone())
    }

    /// A step's phase and the last known state of a program in it.
    pub fn task(&self, id: AttemptId, task: TaskNumber) -> ProgramView {
        let entries = self.entries.lock();
        let entry = entries.get(&id)?;
        Some((entry.phase.clone(), entry.tasks.get(&task).cloned()))
    }

    /// Whether a program that was started in the step runs.
    pub fn has_programs(&self, id: AttemptId) -> bool {
        let entries = self.entries.lock();
        let tasks = entries.get(&id).map(|entry| &entry.tasks);
        tasks.is_some_and(|tasks| tasks.values().any(|state| *state == TaskState::Running))
    }

    /// Called with the lock held, so that changes are sent in the order in which they happen.
    fn publish(&self, id: AttemptId, phase: StepPhase) {
        // The receiver is gone only when kantd exits.
        let _ = self.changes.send(StepStatus { id, phase });
    }

    pub fn remove(&self, id: AttemptId) {
        self.entries.lock().remove(&id);
        self.changed.notify_waiters();
    }

    /// Returns once the step or the program differs from `known`.
    pub async fn wait_for_change(&self, id: AttemptId, task: TaskNumber, known: &ProgramView) {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Registered before the check, so that no change between the two is missed.
            changed.as_mut().enable();
            if self.task(id, task) != *known {
                return;
            }
            changed.await;
        }
    }

    /// Sends a request to a step's driver. Unknown steps are ignored; only an ended step is
    /// forgotten.
    pub fn send(&self, id: AttemptId, request: StepRequest) {
        let entries = self.entries.lock();
        let Some(entry) = entries.get(&id) else { return };
        if request != StepRequest::Forget || matches!(entry.phase, StepPhase::Ended(_)) {
            // A driver that is gone has removed the step, or is about to.
            let _ = entry.driver.send(request);
        }
    }

    pub fn status(&self) -> Vec<StepStatus> {
        let entries = self.entries.lock();
        entries
            .iter()
            .map(|(id, entry)| StepStatus { id: *id, phase: entry.phase.clone() })
            .collect()
    }
}

/// The reservation of a program's start, held until this is dropped.
#[derive(Debug)]
pub struct StartReservation<'a> {
    registry: &'a StepRegistry,
    id: AttemptId,
    stage: StartStage,
}

impl Drop for StartReservation<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.registry.entries.lock().get_mut(&self.id) {
            let count = &mut entry.starts[self.stage as usize];
            *count = count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{Attempt, JobId, JobKey};
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn waiting_for_a_program_returns_for_its_changes_only_even_earlier_ones() {
        let (changes, _receiver) = mpsc::unbounded_channel();
        let registry = StepRegistry::new(changes);
        let id = AttemptId { key: JobKey::single(JobId(7)), attempt: Attempt(1) };
        let [one, other] = [1, 2].map(TaskNumber);
        let _requests = registry.add(id, StepPhase::Ready).unwrap();
        let known = registry.task(id, one);
        let mut changed = pin!(registry.wait_for_change(id, one, &known));
        assert!(changed.as_mut().now_or_never().is_none());
        registry.set_task(id, other, Some(TaskState::Running));
        assert!(changed.as_mut().now_or_never().is_none(), "that was another program");
        registry.set_task(id, one, Some(TaskState::Running));
        assert!(changed.as_mut().now_or_never().is_some());
        assert!(
            registry.wait_for_change(id, one, &known).now_or_never().is_some(),
            "it had changed before"
        );
        let known = registry.task(id, one);
        let mut changed = pin!(registry.wait_for_change(id, one, &known));
        assert!(changed.as_mut().now_or_never().is_none());
        registry.remove(id);
        assert!(changed.as_mut().now_or_never().is_some());
    }
}
