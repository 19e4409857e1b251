//! One step on a machine: its supervisor, its processes and its journal.

use super::Surroundings;
use super::replica::ReplicaStep;
use crate::message::{NodeOutput, StepChange};
use crate::mutants::Mutant;
use crate::work::{self, Behaviour};
use common::id::{AttemptId, NodeName};
use common::job::{EndCause, ExitStatus, Launch, StepEnd, Usage};
use common::resource::Share;
use common::time::{Span, Time};
use common::wire::node::{FenceTerms, LaunchOrder, StepPhase, StepStatus};

#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    Preparing,
    /// It waits for the order to run.
    Ready,
    /// Its processes have run since this time.
    Running(Time),
    /// It is a replica, and still answers requests until it is stopped.
    Draining(Time),
    /// It is being stopped. Its processes started at this time, if they did.
    Stopping(Option<Time>),
    Ended(StepEnd),
}

#[derive(Debug, Clone)]
pub struct Step {
    pub stage: Stage,
    /// The resources it was given.
    pub share: Share,
    /// Its exit alone decides the outcome of the job.
    pub decides: bool,
    /// Only for a replica of a service.
    pub replica: Option<ReplicaStep>,
    has_process: bool,
    /// Its processes are suspended.
    is_suspended: bool,
    /// A change that is delayed until its processes resume.
    due: Option<StepChange>,
    time_limit: Option<Span>,
    behaviour: Behaviour,
    /// Its job may be started again elsewhere.
    may_requeue: bool,
    /// It is ended because the node has no leader.
    is_fenced: bool,
    /// When it was launched and when its processes were started, in true time.
    launched_ms: u64,
    started_ms: Option<u64>,
}

impl Step {
    /// Begins an ordered step; `None` if the order has no share for this node.
    pub fn begin(
        order: &LaunchOrder,
        node: &NodeName,
        around: &mut Surroundings<'_>,
    ) -> Option<Self> {
        let share = order.allocation.on(node)?.clone();
        let shares = order.allocation.shares();
        let is_first = shares.first().is_some_and(|share| share.node == *node);
        let id = order.id;
        let behaviour = work::behaviour(around.seed, &order.job_name, id.key.index, id.attempt.0);
        let replica = ReplicaStep::begin(order, around.seed);
        // The behaviour depends on the name of the job. All replicas of a role have the same one:
        // if it counted, either no prolog of them would hang, or all of them, one after the other.
        let is_calm = around.is_calm;
        let is_stuck =
            replica.as_ref().map_or(behaviour.is_stuck, |replica| replica.is_stuck(is_calm));
        if !is_stuck {
            let in_ms = behaviour.prepare_ms;
            around.outputs.push(NodeOutput::StepIn(in_ms, id, StepChange::Prepared));
        }
        Some(Self {
            stage: Stage::Preparing,
            share,
            decides: shares.len() == 1 || (order.launch == Launch::Once && is_first),
            has_process: is_first || order.launch != Launch::Once,
            is_suspended: false,
            due: None,
            time_limit: order.time_limit,
            behaviour,
            may_requeue: order.requeue,
            is_fenced: false,
            launched_ms: around.now_ms,
            started_ms: None,
            replica,
        })
    }

    /// Starts its processes.
    pub fn go(&mut self, id: AttemptId, around: &mut Surroundings<'_>) {
        if self.stage != Stage::Ready {
            return;
        }
        self.stage = Stage::Running(around.clock);
        self.started_ms = Some(around.now_ms);
        if !self.has_process {
            return;
        }
        if let Some(replica) = &mut self.replica {
            return replica.go(id, around);
        }
        let run_ms = self.behaviour.run_ms;
        let limit = self.time_limit.map(|limit| limit.0).filter(|limit| *limit < run_ms);
        let (in_ms, change) = match limit {
            Some(limit) => (limit, StepChange::TimesOut),
            None => (run_ms, StepChange::Exits),
        };
        around.outputs.push(NodeOutput::StepIn(in_ms, id, change));
    }

    /// Suspends or resumes its processes.
    pub fn set_suspended(&mut self, id: AttemptId, still: bool, around: &mut Surroundings<'_>) {
        if !matches!(self.stage, Stage::Running(_)) {
            return;
        }
        self.is_suspended = still;
        if let Some(change) = self.due.take_if(|_| !still) {
            around.outputs.push(NodeOutput::StepIn(1, id, change));
        }
    }

    /// Stops it. Returns false if it was already being stopped or had ended.
    pub fn stop(&mut self, id: AttemptId, around: &mut Surroundings<'_>) -> bool {
        let since = match self.stage {
            Stage::Preparing | Stage::Ready => None,
            Stage::Running(since) => Some(since),
            Stage::Draining(_) | Stage::Stopping(_) | Stage::Ended(_) => return false,
        };
        self.is_suspended = false;
        let drain = self.replica.as_ref().map_or(Span(0), ReplicaStep::drain_delay);
        match since.filter(|_| !drain.is_zero() && around.mutant != Some(Mutant::SkipDrain)) {
            Some(since) => {
                self.stage = Stage::Draining(since);
                around.outputs.push(NodeOutput::StepIn(drain.0, id, StepChange::Drained));
            }
            None => self.terminate(id, since, around),
        }
        true
    }

    /// Ends it if the node's last contact with a leader, and its own launch, are too long ago.
    pub fn look_at_fence(
        &mut self,
        id: AttemptId,
        contact_ms: u64,
        terms: FenceTerms,
        around: &mut Surroundings<'_>,
    ) {
        let since = match self.stage {
            Stage::Preparing | Stage::Ready => None,
            Stage::Running(since) | Stage::Draining(since) => Some(since),
            Stage::Stopping(_) | Stage::Ended(_) => return,
        };
        let is_over = around.now_ms >= contact_ms.max(self.launched_ms) + terms.after.0;
        if self.may_requeue && is_over {
            (self.is_fenced, self.is_suspended) = (true, false);
            self.stage = Stage::Stopping(since);
            let in_ms = self.behaviour.stop_ms.min(terms.kill_within.0);
            around.outputs.push(NodeOutput::StepIn(in_ms, id, StepChange::Stopped));
        }
    }

    /// Asks its processes to end.
    fn terminate(&mut self, id: AttemptId, since: Option<Time>, around: &mut Surroundings<'_>) {
        if let (Some(replica), Some(_)) = (&self.replica, since) {
            let drain = replica.drain_delay();
            around.services.terminated(around.now_ms, id, drain);
        }
        self.stage = Stage::Stopping(since);
        let in_ms = self.behaviour.stop_ms;
        around.outputs.push(NodeOutput::StepIn(in_ms, id, StepChange::Stopped));
    }

    /// Whether it is a replica whose processes run.
    pub fn serves(&self) -> bool {
        self.replica.is_some() && matches!(self.stage, Stage::Running(_) | Stage::Draining(_))
    }

    /// Applies a change if it is still possible. Returns whether it was.
    pub fn change(
        &mut self,
        id: AttemptId,
        change: StepChange,
        around: &mut Surroundings<'_>,
    ) -> bool {
        if let (Stage::Draining(since), StepChange::Drained) = (&self.stage, change) {
            let since = *since;
            self.terminate(id, Some(since), around);
            return false;
        }
        if self.is_suspended {
            self.due = Some(change);
            return false;
        }
        let (at, now_ms) = (around.clock, around.now_ms);
        let since = |then: u64| Span(now_ms.saturating_sub(then));
        let held = Some(since(self.launched_ms));
        let ran = self.started_ms.map(since);
        let end = |cause, code, since| {
            Stage::Ended(StepEnd { held, ran, ..ended(cause, code, since, at) })
        };
        let next = match (&self.stage, change) {
            (Stage::Preparing, StepChange::Prepared) => Stage::Ready,
            (Stage::Running(since) | Stage::Draining(since), StepChange::ReplicaEnds(cause)) => {
                let code = self.replica.as_ref().map_or(0, ReplicaStep::code);
                end(cause, code, Some(*since))
            }
            (Stage::Running(since), StepChange::Exits) => {
                end(EndCause::Exited, self.behaviour.code, Some(*since))
            }
            (Stage::Running(since), StepChange::TimesOut) => {
                end(EndCause::TimedOut, 0, Some(*since))
            }
            (Stage::Stopping(since), StepChange::Stopped) => {
                let cause = if self.is_fenced { EndCause::Lost } else { EndCause::Stopped };
                end(cause, 0, *since)
            }
            _ => return false,
        };
        self.stage = next;
        true
    }

    /// Ends it because the machine lost it.
    pub fn lose(&mut self, at: Time) {
        let since = match self.stage {
            Stage::Ended(_) => return,
            Stage::Running(since) | Stage::Draining(since) => Some(since),
            Stage::Stopping(since) => since,
            Stage::Preparing | Stage::Ready => None,
        };
        self.stage = Stage::Ended(ended(EndCause::Lost, 0, since, at));
    }

    /// Its status, as reported to the controller.
    pub fn status(&self, id: AttemptId) -> StepStatus {
        let phase = match &self.stage {
            Stage::Preparing | Stage::Stopping(None) => StepPhase::Preparing,
            Stage::Ready => StepPhase::Ready,
            Stage::Running(since) | Stage::Draining(since) | Stage::Stopping(Some(since)) => {
                StepPhase::Running { since: *since, suspended: self.is_suspended }
            }
            Stage::Ended(end) => StepPhase::Ended(Box::new(end.clone())),
        };
        StepStatus { id, phase }
    }
}

/// The end of a step.
pub fn ended(cause: EndCause, code: u8, started_at: Option<Time>, ended_at: Time) -> StepEnd {
    let signal = (cause == EndCause::Stopped && started_at.is_some()).then_some(15);
    let exit = ExitStatus { code, signal };
    StepEnd {
        cause,
        exit,
        started_at,
        ended_at,
        held: None,
        ran: None,
        usage: Usage::default(),
        message: None,
        steps: Vec::new(),
    }
}
