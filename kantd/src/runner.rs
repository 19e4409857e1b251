//! The loop that makes the observed state match the desired one: takes the controller's updates and
//! the steps' changes, calls `node::reconcile`, and carries out the actions.
//!
//! It is the only owner of [`Desired`] and [`Observed`]. The session talks to the controller, and
//! the executor acts on processes.

use crate::clock;
use common::id::AttemptId;
use common::job::{ExitStatus, StepEnd, Usage};
use common::time::Span;
use common::wire::node::{DesiredUpdate, LaunchOrder, Resized, StepPhase, StepStatus};
use node::{DeclineReason, Desired, NodeAction, Observed, reconcile};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// Interval of reconciliation without events, so that nothing depends on a single event.
const PERIOD: Duration = Duration::from_secs(5);

/// A message to the runner.
#[derive(Debug)]
pub enum RunnerMessage {
    Desired(DesiredUpdate),
    /// A connection ends or begins, which invalidates earlier updates.
    Suspend,
    /// Answered at once by a working runner.
    AreYouThere(oneshot::Sender<()>),
}

/// Carries out actions. Every method returns at once and is idempotent.
pub trait Executor: Send + 'static {
    /// Prepares a step; an error ends it.
    fn launch(&self, order: LaunchOrder);
    /// Runs a step that is ready.
    fn start_ready_step(&self, id: AttemptId);
    /// Suspends a step's processes.
    fn suspend(&self, id: AttemptId);
    fn resume(&self, id: AttemptId);
    /// Sets a step's time limit.
    fn limit(&self, id: AttemptId, limit: Span);
    /// Applies the new size of a step's job.
    fn resize(&self, id: AttemptId, resized: Resized);
    fn stop(&self, id: AttemptId);
    /// Drops what is kept of an ended step.
    fn forget(&self, id: AttemptId);
}

/// The loop and its state.
#[derive(Debug)]
pub struct Runner<E> {
    executor: E,
    desired: Desired,
    observed: Observed,
    published: watch::Sender<Observed>,
    /// The last actions, to log repeated ones only once.
    last_actions: Vec<NodeAction>,
}

impl<E: Executor> Runner<E> {
    /// A runner with these steps, and the receiver of the phases that it publishes.
    pub fn new(executor: E, held: Vec<StepStatus>) -> (Self, watch::Receiver<Observed>) {
        let observed: Observed = held.into_iter().collect();
        let (published, view) = watch::channel(observed.clone());
        let desired = Desired::new();
        (Self { executor, desired, observed, published, last_actions: Vec::new() }, view)
    }

    /// Runs until all senders of messages are gone. `changes` are the steps' phase changes.
    pub async fn run(
        mut self,
        mut messages: mpsc::Receiver<RunnerMessage>,
        mut changes: mpsc::UnboundedReceiver<StepStatus>,
    ) {
        let mut period = tokio::time::interval(PERIOD);
        loop {
            tokio::select! {
                message = messages.recv() => match message {
                    Some(message) => self.on_message(message),
                    None => return,
                },
                Some(change) = changes.recv() => self.on_change(change),
                _ = period.tick() => {}
            }
            // A burst of changes leads to one reconciliation and one report.
            while let Ok(change) = changes.try_recv() {
                self.on_change(change);
            }
            self.act();
            self.publish();
        }
    }

    fn on_message(&mut self, message: RunnerMessage) {
        match message {
            RunnerMessage::Suspend => self.desired.invalidate(),
            RunnerMessage::AreYouThere(answer) => drop(answer.send(())),
            RunnerMessage::Desired(update) => {
                if let Err(error) = self.desired.apply(update) {
                    tracing::warn!(%error, "ignored a message from the controller");
                }
            }
        }
    }

    fn on_change(&mut self, StepStatus { id, phase }: StepStatus) {
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
            if !self.last_actions.contains(action) {
                log_action(action);
            }
            match action {
                NodeAction::Launch(order) => {
                    self.observed.insert(order.id, StepPhase::Preparing);
                    if let Some(limit) = order.time_limit {
                        self.observed.record_limit(order.id, limit);
                    }
                    self.executor.launch(LaunchOrder::clone(order));
                }
                NodeAction::Go(id) => self.executor.start_ready_step(*id),
                NodeAction::Suspend(id) => self.executor.suspend(*id),
                NodeAction::Resume(id) => self.executor.resume(*id),
                NodeAction::Limit(id, limit) => {
                    self.executor.limit(*id, *limit);
                    self.observed.record_limit(*id, *limit);
                }
                NodeAction::Resize(id, resized) => {
                    self.executor.resize(*id, Resized::clone(resized));
                    self.observed.record_resize(*id, resized.number);
                }
                NodeAction::Stop(id) => self.executor.stop(*id),
                NodeAction::Forget(id) => {
                    self.executor.forget(*id);
                    self.observed.forget(*id);
                }
                NodeAction::Decline(id, reason) => {
                    self.observed.insert(*id, declined_phase(*reason))
                }
            }
        }
        self.last_actions = actions;
    }

    fn publish(&self) {
        self.published.send_if_modified(|shown| self.observed.copy_phases_to(shown));
    }
}

/// Logs an action. Not the order, which contains the user's environment.
fn log_action(action: &NodeAction) {
    let step = action.id();
    match action {
        NodeAction::Launch(order) => {
            tracing::info!(%step, job = order.job_name, uid = order.owner.uid.0, "launching");
        }
        NodeAction::Go(_) => tracing::info!(%step, "letting it run"),
        NodeAction::Suspend(_) => tracing::info!(%step, "suspending"),
        NodeAction::Resume(_) => tracing::info!(%step, "resuming"),
        NodeAction::Limit(_, limit) => tracing::info!(%step, %limit, "setting its time limit"),
        NodeAction::Resize(_, resized) => {
            let nodes = resized.allocation.shares().len();
            tracing::info!(%step, nodes, number = resized.number, "setting its size");
        }
        NodeAction::Stop(_) => tracing::info!(%step, "stopping"),
        NodeAction::Forget(_) => tracing::info!(%step, "forgetting"),
        NodeAction::Decline(_, reason) => tracing::warn!(%step, %reason, "declining"),
    }
}

/// The end of a step that was declined.
fn declined_phase(reason: DeclineReason) -> StepPhase {
    StepPhase::Ended(Box::new(StepEnd {
        cause: reason.cause(),
        exit: ExitStatus::default(),
        started_at: None,
        ended_at: clock::now(),
        held: None,
        ran: None,
        usage: Usage::default(),
        message: Some(reason.to_string()),
        steps: Vec::new(),
    }))
}
