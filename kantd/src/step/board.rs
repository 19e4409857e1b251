//! What kantd knows of its steps: the phase of each, and a line for whoever wants every change.
//! Never decides anything.

use super::overuse::GpuOveruse;
use common::id::{AttemptId, TaskNumber};
use common::job::SignalNumber;
use common::time::Span;
use common::wire::node::{Reached, StepPhase, StepStatus, TaskState};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc};

/// What may be asked of a step's keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Go,
    Suspend,
    Resume,
    /// Keep to this time limit.
    Limit(Span),
    /// Look at what the job has now, left in the step's directory under this number.
    Resize(u32),
    Stop,
    Forget,
    /// Start the program whose order lies in the step's directory.
    Task(TaskNumber),
    /// Send such a program a signal.
    Signal(TaskNumber, SignalNumber),
    /// Send its processes a signal.
    SignalJob(SignalNumber, Reached),
    /// End it, for it has more of a GPU's memory than its share.
    Overuse(GpuOveruse),
}

#[derive(Debug)]
struct Entry {
    phase: StepPhase,
    keeper: mpsc::UnboundedSender<Wish>,
    /// Programs that were started in it, as its supervisor told.
    tasks: BTreeMap<TaskNumber, TaskState>,
    /// So many wait for their start in it, and are being started.
    on_the_way: [usize; 2],
}

/// The phase of a step, and how a program in it is doing; `None`: the step is not there.
pub type Known = Option<(StepPhase, Option<TaskState>)>;

/// How far the start of a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Somebody asked for it.
    Waits,
    /// Its order is left to the supervisor.
    Starts,
}

/// All steps, by id.
#[derive(Debug)]
pub struct Board {
    entries: Mutex<BTreeMap<AttemptId, Entry>>,
    changes: mpsc::UnboundedSender<StepStatus>,
    /// Rung when a prolog or an epilog failed.
    bell: Arc<Notify>,
    /// Told whenever a phase or a program's state is another.
    news: Notify,
}

impl Board {
    /// An empty one, whose changes go there.
    pub fn new(changes: mpsc::UnboundedSender<StepStatus>) -> Self {
        Self { entries: Mutex::default(), changes, bell: Arc::default(), news: Notify::new() }
    }

    /// Rings when a prolog or an epilog failed.
    pub fn bell(&self) -> Arc<Notify> {
        Arc::clone(&self.bell)
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<AttemptId, Entry>> {
        // Every change to the map is one call: a panic elsewhere leaves it whole.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a step and returns its wishes; `None` if it is there already.
    pub fn add(&self, id: AttemptId, phase: StepPhase) -> Option<mpsc::UnboundedReceiver<Wish>> {
        let mut entries = self.entries();
        if entries.contains_key(&id) {
            return None;
        }
        let (keeper, wishes) = mpsc::unbounded_channel();
        self.tell(id, phase.clone());
        entries.insert(id, Entry { phase, keeper, tasks: BTreeMap::new(), on_the_way: [0; 2] });
        Some(wishes)
    }

    /// The step is in this phase now; told if that is news.
    pub fn set(&self, id: AttemptId, phase: StepPhase) {
        if let Some(entry) = self.entries().get_mut(&id)
            && entry.phase != phase
        {
            entry.phase = phase.clone();
            self.tell(id, phase);
            self.news.notify_waiters();
        }
    }

    /// How a program in a step is doing; `None`: that is forgotten.
    pub fn set_task(&self, id: AttemptId, task: TaskNumber, state: Option<TaskState>) {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(&id) else { return };
        match state {
            Some(state) => drop(entry.tasks.insert(task, state)),
            None => drop(entry.tasks.remove(&task)),
        }
        drop(entries);
        self.news.notify_waiters();
    }

    /// One more program has come so far in a step; `None` if `most` have, or the step is not there.
    pub fn begin_start(&self, id: AttemptId, stage: Stage, most: usize) -> Option<Starting<'_>> {
        let mut entries = self.entries();
        let count = &mut entries.get_mut(&id)?.on_the_way[stage as usize];
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Starting { board: self, id, stage })
    }

    /// A supervisor is about to tell of all its programs; what it does not tell it has forgotten.
    pub fn forget_tasks(&self, id: AttemptId) {
        if let Some(entry) = self.entries().get_mut(&id) {
            entry.tasks.clear();
        }
    }

    /// The phase of a step; `None`: it is not there.
    pub fn phase(&self, id: AttemptId) -> Option<StepPhase> {
        self.entries().get(&id).map(|entry| entry.phase.clone())
    }

    /// The phase of a step, and how a program in it is doing, as far as that is known.
    pub fn task(&self, id: AttemptId, task: TaskNumber) -> Known {
        let entries = self.entries();
        let entry = entries.get(&id)?;
        Some((entry.phase.clone(), entry.tasks.get(&task).cloned()))
    }

    /// Does a program run in it that was started there?
    pub fn has_programs(&self, id: AttemptId) -> bool {
        let entries = self.entries();
        let tasks = entries.get(&id).map(|entry| &entry.tasks);
        tasks.is_some_and(|tasks| tasks.values().any(|state| *state == TaskState::Running))
    }

    /// Inside the lock, so that changes are told in the order they happen.
    fn tell(&self, id: AttemptId, phase: StepPhase) {
        // Nobody listens any more when kantd is on its way out.
        let _ = self.changes.send(StepStatus { id, phase });
    }

    /// The step is gone.
    pub fn remove(&self, id: AttemptId) {
        self.entries().remove(&id);
        self.news.notify_waiters();
    }

    /// Returns once a program is no longer as it was known.
    pub async fn differs(&self, (id, task): (AttemptId, TaskNumber), known: &Known) {
        loop {
            let mut news = pin!(self.news.notified());
            // Heard from here on: what changes before the look is seen by it.
            news.as_mut().enable();
            if self.task(id, task) != *known {
                return;
            }
            news.await;
        }
    }

    /// Passes a wish on. A step that is not there has none, and only an ended one is forgotten.
    pub fn wish(&self, id: AttemptId, wish: Wish) {
        let entries = self.entries();
        let Some(entry) = entries.get(&id) else { return };
        if wish != Wish::Forget || matches!(entry.phase, StepPhase::Ended(_)) {
            // A keeper that is gone has removed the step, or is about to.
            let _ = entry.keeper.send(wish);
        }
    }

    pub fn status(&self) -> Vec<StepStatus> {
        let entries = self.entries();
        entries
            .iter()
            .map(|(id, entry)| StepStatus { id: *id, phase: entry.phase.clone() })
            .collect()
    }
}

/// A program that is being started, until this is dropped.
#[derive(Debug)]
pub struct Starting<'a> {
    board: &'a Board,
    id: AttemptId,
    stage: Stage,
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.board.entries().get_mut(&self.id) {
            let count = &mut entry.on_the_way[self.stage as usize];
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
    async fn who_waits_for_news_of_a_program_hears_of_it_alone_and_of_what_came_before() {
        let (changes, _told) = mpsc::unbounded_channel();
        let board = Board::new(changes);
        let id = AttemptId { key: JobKey::single(JobId(7)), attempt: Attempt(1) };
        let [one, other] = [1, 2].map(TaskNumber);
        let _wishes = board.add(id, StepPhase::Ready).unwrap();
        let known = board.task(id, one);
        let mut news = pin!(board.differs((id, one), &known));
        assert!(news.as_mut().now_or_never().is_none());
        board.set_task(id, other, Some(TaskState::Running));
        assert!(news.as_mut().now_or_never().is_none(), "that was another program");
        board.set_task(id, one, Some(TaskState::Running));
        assert!(news.as_mut().now_or_never().is_some());
        assert!(board.differs((id, one), &known).now_or_never().is_some(), "it was so before");
        let known = board.task(id, one);
        let mut news = pin!(board.differs((id, one), &known));
        assert!(news.as_mut().now_or_never().is_none());
        board.remove(id);
        assert!(news.as_mut().now_or_never().is_some());
    }
}
