//! The loop that makes what is there become what is wanted: hears the controller's word and the
//! steps' changes, asks `node::reconcile` what to do, and has it done.
//!
//! The only owner of [`Desired`] and [`Observed`]. Never talks to the controller, which reads the
//! board, and never touches a process, which the executor does.

use crate::clock;
use common::id::AttemptId;
use common::job::{ExitStatus, StepEnd, Usage};
use common::time::Span;
use common::wire::node::{DesiredUpdate, LaunchOrder, Resized, StepPhase, StepStatus};
use node::{DeclineReason, Desired, NodeAction, Observed, reconcile};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// Looks again this often though nothing happened, so that nothing depends on a single event.
const PERIOD: Duration = Duration::from_secs(5);

/// What the runner is told.
#[derive(Debug)]
pub enum Word {
    /// The controller says what to run.
    Desired(DesiredUpdate),
    /// A connection ended or begins: what was said before is no longer in force.
    Suspend,
    /// Answered at once by a runner that works.
    AreYouThere(oneshot::Sender<()>),
}

/// Who carries actions out. All of it returns at once and may be repeated without harm.
pub trait Executor: Send + 'static {
    /// Prepares a step; what goes wrong becomes its end.
    fn launch(&self, order: LaunchOrder);
    /// Runs a step that stands ready.
    fn go(&self, id: AttemptId);
    /// Lets the processes of a step stand still.
    fn suspend(&self, id: AttemptId);
    /// Lets them go on.
    fn resume(&self, id: AttemptId);
    /// From now on it has this time limit.
    fn limit(&self, id: AttemptId, limit: Span);
    /// Its job has another size now.
    fn resize(&self, id: AttemptId, resized: Resized);
    fn stop(&self, id: AttemptId);
    /// Drops what is kept of a step that ended.
    fn forget(&self, id: AttemptId);
}

/// The loop and all that it knows.
#[derive(Debug)]
pub struct Runner<E> {
    executor: E,
    desired: Desired,
    observed: Observed,
    board: watch::Sender<Observed>,
    /// What was last asked for: a repetition is no news for the log.
    asked: Vec<NodeAction>,
}

impl<E: Executor> Runner<E> {
    /// A runner that holds these steps, and the board on which it shows what it holds.
    pub fn new(executor: E, held: Vec<StepStatus>) -> (Self, watch::Receiver<Observed>) {
        let observed: Observed = held.into_iter().collect();
        let (board, view) = watch::channel(observed.clone());
        let desired = Desired::new();
        (Self { executor, desired, observed, board, asked: Vec::new() }, view)
    }

    /// Runs until nobody can say anything any more. `changes` are those of the steps.
    pub async fn run(
        mut self,
        mut words: mpsc::Receiver<Word>,
        mut changes: mpsc::UnboundedReceiver<StepStatus>,
    ) {
        let mut period = tokio::time::interval(PERIOD);
        loop {
            tokio::select! {
                word = words.recv() => match word {
                    Some(word) => self.hear(word),
                    None => return,
                },
                Some(change) = changes.recv() => self.note(change),
                _ = period.tick() => {}
            }
            // A burst of changes is one look and one report.
            while let Ok(change) = changes.try_recv() {
                self.note(change);
            }
            self.act();
            self.show();
        }
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Suspend => self.desired.suspend(),
            Word::AreYouThere(answer) => drop(answer.send(())),
            Word::Desired(update) => {
                if let Err(error) = self.desired.apply(update) {
                    tracing::warn!(%error, "ignored a message of the controller");
                }
            }
        }
    }

    fn note(&mut self, StepStatus { id, phase }: StepStatus) {
        match &phase {
            StepPhase::Ended(end) => {
                let message = end.message.as_deref().unwrap_or_default();
                tracing::info!(step = %id, cause = ?end.cause, exit = %end.exit, message, "ended");
            }
            phase => tracing::info!(step = %id, ?phase, "changed"),
        }
        self.observed.insert(id, phase);
    }

    fn act(&mut self) {
        let actions = reconcile(&self.desired, &self.observed);
        for action in &actions {
            if !self.asked.contains(action) {
                tell(action);
            }
            match action {
                NodeAction::Launch(order) => {
                    self.observed.insert(order.id, StepPhase::Preparing);
                    if let Some(limit) = order.time_limit {
                        self.observed.note_limit(order.id, limit);
                    }
                    self.executor.launch(LaunchOrder::clone(order));
                }
                NodeAction::Go(id) => self.executor.go(*id),
                NodeAction::Suspend(id) => self.executor.suspend(*id),
                NodeAction::Resume(id) => self.executor.resume(*id),
                NodeAction::Limit(id, limit) => {
                    self.executor.limit(*id, *limit);
                    self.observed.note_limit(*id, *limit);
                }
                NodeAction::Resize(id, resized) => {
                    self.executor.resize(*id, Resized::clone(resized));
                    self.observed.note_size(*id, resized.number);
                }
                NodeAction::Stop(id) => self.executor.stop(*id),
                NodeAction::Forget(id) => {
                    self.executor.forget(*id);
                    self.observed.forget(*id);
                }
                NodeAction::Decline(id, reason) => self.observed.insert(*id, declined(*reason)),
            }
        }
        self.asked = actions;
    }

    fn show(&self) {
        self.board.send_if_modified(|shown| self.observed.show_on(shown));
    }
}

/// One line for the log; never the order, which holds the user's environment.
fn tell(action: &NodeAction) {
    let step = action.id();
    match action {
        NodeAction::Launch(order) => {
            tracing::info!(%step, job = order.job_name, uid = order.owner.uid.0, "launching");
        }
        NodeAction::Go(_) => tracing::info!(%step, "letting it run"),
        NodeAction::Suspend(_) => tracing::info!(%step, "suspending"),
        NodeAction::Resume(_) => tracing::info!(%step, "resuming"),
        NodeAction::Limit(_, limit) => tracing::info!(%step, %limit, "telling its time limit"),
        NodeAction::Resize(_, resized) => {
            let nodes = resized.allocation.shares().len();
            tracing::info!(%step, nodes, number = resized.number, "telling its size");
        }
        NodeAction::Stop(_) => tracing::info!(%step, "stopping"),
        NodeAction::Forget(_) => tracing::info!(%step, "forgetting"),
        NodeAction::Decline(_, reason) => tracing::warn!(%step, %reason, "declining"),
    }
}

/// The end of a step that never was.
fn declined(reason: DeclineReason) -> StepPhase {
    StepPhase::Ended(Box::new(StepEnd {
        cause: reason.cause(),
        exit: ExitStatus::default(),
        started_at: None,
        ended_at: clock::now(),
        usage: Usage::default(),
        message: Some(reason.to_string()),
        steps: Vec::new(),
    }))
}
