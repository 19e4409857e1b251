//! The steps of an emulated node: phases and timers instead of processes.

use super::behaviour::{Behaviour, DefaultBehaviour};
use crate::clock;
use crate::runner::Executor;
use common::id::{AttemptId, NodeName};
use common::job::{EndCause, ExitStatus, Launch, StepEnd, Usage};
use common::sync::Mutex;
use common::time::{Span, Time};
use common::wire::node::{LaunchOrder, Resized, StepPhase, StepStatus};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

/// The signal of a stopped step.
const SIGTERM: u8 = 15;

/// Carries out a runner's actions on emulated steps.
#[derive(Debug, Clone)]
pub struct EmulatedSteps {
    node: NodeName,
    default_behaviour: DefaultBehaviour,
    steps: Arc<Mutex<BTreeMap<AttemptId, Step>>>,
    changes: mpsc::UnboundedSender<StepStatus>,
}

#[derive(Debug)]
struct Step {
    /// When and how its processes end on their own; `None` if it has none on this node.
    planned_end: Option<(Duration, EndCause, u8)>,
    launched: Instant,
    /// When it was started, if it was.
    started: Option<Instant>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Ready,
    Running { since: Time, until: Option<(Instant, AbortHandle)> },
    Suspended { since: Time, left: Option<Duration> },
    Ended,
}

impl EmulatedSteps {
    /// An empty set of steps, and the receiver of their phase changes.
    #[must_use]
    pub fn new(
        node: NodeName,
        default_behaviour: DefaultBehaviour,
    ) -> (Self, mpsc::UnboundedReceiver<StepStatus>) {
        let (changes, seen) = mpsc::unbounded_channel();
        (Self { node, default_behaviour, steps: Arc::default(), changes }, seen)
    }

    fn publish(&self, id: AttemptId, phase: StepPhase) {
        // The receiver is gone only with the node.
        let _ = self.changes.send(StepStatus { id, phase });
    }

    /// When and how its processes end on their own, if it has any on this node.
    fn planned_end(&self, order: &LaunchOrder) -> Option<(Duration, EndCause, u8)> {
        let first = order.allocation.shares().first().is_some_and(|share| share.node == self.node);
        let has_process = match order.launch {
            Launch::Held => false,
            Launch::Once => first,
            Launch::PerNode | Launch::PerTask => true,
        };
        let Behaviour { run, code } = Behaviour::from_order(order, self.default_behaviour);
        let limit = order.time_limit.map(|limit| Duration::from_millis(limit.0));
        let planned_end = match limit.filter(|limit| *limit < run) {
            Some(limit) => (limit, EndCause::TimedOut, 0),
            None => (run, EndCause::Exited, code),
        };
        has_process.then_some(planned_end)
    }

    /// Runs a step for the remaining time.
    fn run(&self, id: AttemptId, step: &mut Step, since: Time, left: Option<Duration>) {
        self.publish(id, StepPhase::Running { since, suspended: false });
        step.started.get_or_insert_with(Instant::now);
        if left.is_some_and(|left| left.is_zero()) {
            return self.finish_as_planned(id, step, since);
        }
        let until = left.map(|left| {
            let (steps, until) = (self.clone(), Instant::now() + left);
            let timer = tokio::spawn(async move {
                sleep_until(until).await;
                steps.on_timer(id);
            });
            (until, timer.abort_handle())
        });
        step.stage = Stage::Running { since, until };
    }

    fn on_timer(&self, id: AttemptId) {
        let mut steps = self.steps.lock();
        let Some(step) = steps.get_mut(&id) else { return };
        // The step may have been suspended just now, and have more time.
        let Stage::Running { since, until: Some((until, _)) } = &step.stage else { return };
        if *until <= Instant::now() {
            let since = *since;
            self.finish_as_planned(id, step, since);
        }
    }

    fn finish_as_planned(&self, id: AttemptId, step: &mut Step, since: Time) {
        let Some((_, cause, code)) = step.planned_end else { return };
        let signal = (cause == EndCause::TimedOut).then_some(SIGTERM);
        self.end(id, step, cause, ExitStatus { code, signal }, Some(since));
    }

    fn end(
        &self,
        id: AttemptId,
        step: &mut Step,
        cause: EndCause,
        exit: ExitStatus,
        started_at: Option<Time>,
    ) {
        if let Stage::Running { until: Some((_, timer)), .. } = &step.stage {
            timer.abort();
        }
        step.stage = Stage::Ended;
        let (ended_at, usage) = (clock::now(), Usage::default());
        let (message, steps) = (None, Vec::new());
        let since =
            |then: Instant| Span(u64::try_from(then.elapsed().as_millis()).unwrap_or(u64::MAX));
        let (held, ran) = (Some(since(step.launched)), step.started.map(since));
        let end = StepEnd { cause, exit, started_at, ended_at, held, ran, usage, message, steps };
        self.publish(id, StepPhase::Ended(Box::new(end)));
    }
}

impl Executor for EmulatedSteps {
    fn launch(&self, order: LaunchOrder) {
        let planned_end = self.planned_end(&order);
        let launched = Instant::now();
        let step = Step { planned_end, launched, started: None, stage: Stage::Ready };
        self.steps.lock().entry(order.id).or_insert(step);
        self.publish(order.id, StepPhase::Ready);
    }

    fn start_ready_step(&self, id: AttemptId) {
        if let Some(step) = self.steps.lock().get_mut(&id)
            && let Stage::Ready = step.stage
        {
            let left = step.planned_end.map(|(run, ..)| run);
            self.run(id, step, clock::now(), left);
        }
    }

    fn suspend(&self, id: AttemptId) {
        if let Some(step) = self.steps.lock().get_mut(&id)
            && let Stage::Running { since, until } = &step.stage
        {
            let since = *since;
            let left = until.as_ref().map(|(until, timer)| {
                timer.abort();
                // At least a moment: a suspended step has not ended.
                until.duration_since(Instant::now()).max(Duration::from_millis(1))
            });
            step.stage = Stage::Suspended { since, left };
            self.publish(id, StepPhase::Running { since, suspended: true });
        }
    }

    fn resume(&self, id: AttemptId) {
        if let Some(step) = self.steps.lock().get_mut(&id)
            && let Stage::Suspended { since, left } = step.stage
        {
            self.run(id, step, since, left);
        }
    }

    /// Not emulated: a step ends by the limit of its launch order.
    fn limit(&self, _: AttemptId, _: Span) {}

    fn stop(&self, id: AttemptId) {
        let mut steps = self.steps.lock();
        let Some(step) = steps.get_mut(&id) else { return };
        let started_at = match &step.stage {
            Stage::Ended => return,
            Stage::Ready => None,
            Stage::Running { since, .. } | Stage::Suspended { since, .. } => Some(*since),
        };
        let exit = ExitStatus { code: 0, signal: started_at.map(|_| SIGTERM) };
        self.end(id, step, EndCause::Stopped, exit, started_at);
    }

    /// Not emulated: no process could read the size.
    fn resize(&self, _: AttemptId, _: Resized) {}

    fn forget(&self, id: AttemptId) {
        self.steps.lock().remove(&id);
    }
}
