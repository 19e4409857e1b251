//! A simulated node: it has what its inventory lists, runs what is desired of it, and takes its
//! time. A step whose CPUs or GPUs are still used by an ending step waits. A machine knows only
//! what a real node is sent.

use crate::behaviour::{Behaviour, PREPARE, STOP};
use common::id::{AttemptId, NodeName};
use common::job::{
    EndCause, ExitStatus, Launch, Replica, ReplicaHealth, ReplicaStatus, StepEnd, Usage,
};
use common::node::Inventory;
use common::resource::Share;
use common::time::{Span, Time};
use common::wire::node::{DesiredStep, LaunchOrder, StepPhase, StepStatus, Want};
use std::collections::BTreeMap;

/// What a machine receives about a step that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// As a node would get it.
    pub launch: LaunchOrder,
    /// What its processes will do.
    pub behaviour: Behaviour,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    pub name: NodeName,
    pub inventory: Inventory,
    /// Whether the controller is connected to it.
    pub connected: bool,
    /// How many times it booted.
    pub boots: u32,
    steps: BTreeMap<AttemptId, Step>,
}

#[derive(Debug, Clone, PartialEq)]
struct Step {
    share: Share,
    has_process: bool,
    time_limit: Option<Span>,
    /// If it is a replica of a service. Its first node probes it.
    replica: Option<Box<Replica>>,
    is_first: bool,
    /// Whether its probes have succeeded.
    is_ready: bool,
    behaviour: Behaviour,
    want: Want,
    launched_at: Time,
    stage: Stage,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Preparing(Time),
    Ready,
    /// Since when it runs and, if it ends by itself, when and how it ends.
    Running(Time, Option<(Time, EndCause)>),
    /// Since when it ran, if it did, and when it will have stopped.
    Stopping(Option<Time>, Time),
    Ended(StepEnd),
}

impl Machine {
    /// A machine that is not connected yet.
    #[must_use]
    pub const fn new(name: NodeName, inventory: Inventory) -> Self {
        Self { name, inventory, connected: false, boots: 1, steps: BTreeMap::new() }
    }

    /// Everything it holds, as in a Hello.
    #[must_use]
    pub fn steps(&self) -> Vec<StepStatus> {
        self.steps.iter().map(|(id, step)| StepStatus { id: *id, phase: step.phase() }).collect()
    }

    /// What its probes say of the replicas that run here.
    #[must_use]
    pub fn replicas(&self) -> Vec<ReplicaStatus> {
        let status = |(id, step): (&AttemptId, &Step)| {
            let health = step.health()?;
            Some(ReplicaStatus { id: *id, health, ports: Vec::new(), why: None })
        };
        self.steps.iter().filter_map(status).collect()
    }

    /// The attempts whose processes run here now.
    pub fn running(&self) -> impl Iterator<Item = AttemptId> + '_ {
        let runs = |step: &Step| matches!(step.stage, Stage::Running(..));
        self.steps.iter().filter(move |(_, step)| runs(step)).map(|(id, _)| *id)
    }

    /// It loses power: nothing is left.
    pub fn reboot(&mut self) {
        self.steps.clear();
        self.boots += 1;
        self.inventory.boot_id = format!("boot-{}", self.boots);
    }

    /// When something happens here next by itself.
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        let at = |step: &Step| match step.stage {
            Stage::Preparing(at) | Stage::Stopping(_, at) => Some(at),
            Stage::Running(_, until) => {
                until.map(|(at, _)| at).into_iter().chain(step.ready_at()).min()
            }
            Stage::Ready | Stage::Ended(_) => None,
        };
        self.steps.values().filter_map(at).min()
    }

    /// Takes the full desired state. A step that is not in it is killed or, once it has ended,
    /// forgotten.
    pub fn apply_desired(
        &mut self,
        now: Time,
        desired: &[DesiredStep],
        order: impl Fn(AttemptId) -> Option<Order>,
    ) {
        for (id, step) in &mut self.steps {
            let wanted = desired.iter().find(|wanted| wanted.id == *id);
            step.want = wanted.map_or(Want::Stop, |wanted| wanted.want);
        }
        self.steps.retain(|id, step| {
            let wanted = desired.iter().any(|wanted| wanted.id == *id);
            wanted || !matches!(step.stage, Stage::Ended(_))
        });
        for wanted in desired {
            if self.steps.contains_key(&wanted.id) {
                continue;
            }
            let Some(order) = order(wanted.id) else { continue };
            let Some(share) = order.launch.allocation.on(&self.name).cloned() else { continue };
            if wanted.want != Want::Stop && self.is_fenced(&share) {
                continue;
            }
            let step = Step::new(now, wanted.want, share, &self.name, order);
            self.steps.insert(wanted.id, step);
        }
        for step in self.steps.values_mut() {
            step.follow_want(now);
        }
    }

    /// Advances time: what was due happens.
    pub fn tick(&mut self, now: Time) {
        for step in self.steps.values_mut() {
            step.tick(now, &self.name);
            step.follow_want(now);
        }
    }

    /// Whether a step that has not ended uses any of this.
    fn is_fenced(&self, share: &Share) -> bool {
        self.steps.values().any(|step| {
            let alive = !matches!(step.stage, Stage::Ended(_));
            let gpus = step.share.gpus.iter().any(|gpu| share.gpus.contains(gpu));
            alive && (gpus || step.share.cpus.intersects(&share.cpus))
        })
    }
}

impl Step {
    fn new(now: Time, want: Want, share: Share, node: &NodeName, order: Order) -> Self {
        let Order { launch, behaviour } = order;
        let first = launch.allocation.shares().first().is_some_and(|s| s.node == *node);
        Self {
            share,
            has_process: launch.launch != Launch::Held && (first || launch.launch != Launch::Once),
            time_limit: launch.time_limit,
            replica: launch.replica,
            is_first: first,
            is_ready: false,
            behaviour,
            want,
            launched_at: now,
            stage: Stage::Preparing(now + PREPARE),
        }
    }

    fn phase(&self) -> StepPhase {
        match &self.stage {
            Stage::Preparing(_) => StepPhase::Preparing,
            Stage::Ready => StepPhase::Ready,
            Stage::Running(since, _) | Stage::Stopping(Some(since), _) => {
                StepPhase::Running { since: *since, suspended: false }
            }
            Stage::Stopping(None, _) => StepPhase::Preparing,
            Stage::Ended(end) => StepPhase::Ended(Box::new(end.clone())),
        }
    }

    fn follow_want(&mut self, now: Time) {
        match (&self.stage, self.want) {
            (Stage::Ready, Want::Run) => self.stage = Stage::Running(now, self.runs_until(now)),
            (Stage::Running(since, _), Want::Stop) => {
                let drain = self.replica.as_ref().map_or(Span(0), |replica| replica.drain_delay);
                self.stage = Stage::Stopping(Some(*since), now + drain + STOP);
            }
            (Stage::Preparing(_) | Stage::Ready, Want::Stop) => {
                self.stage = Stage::Ended(self.end_report(EndCause::Stopped, 0, None, now));
            }
            _ => {}
        }
    }

    /// When and how its processes end by themselves. `None`: it has none.
    fn runs_until(&self, now: Time) -> Option<(Time, EndCause)> {
        if !self.has_process {
            return None;
        }
        let natural = self.behaviour.run.map(|run| (now + run, self.behaviour.cause));
        let limit = self.time_limit.map(|limit| (now + limit, EndCause::TimedOut));
        natural.into_iter().chain(limit).min_by_key(|(at, _)| *at)
    }

    /// When its probes will succeed, if it goes on running and they have not yet.
    fn ready_at(&self) -> Option<Time> {
        let Stage::Running(since, _) = self.stage else { return None };
        let after = self.behaviour.ready_after.filter(|_| !self.is_ready)?;
        self.is_probed().then(|| since + after)
    }

    /// `None`: it does not run, or is not probed here.
    fn health(&self) -> Option<ReplicaHealth> {
        let Stage::Running(..) = self.stage else { return None };
        let of = |is_ready| if is_ready { ReplicaHealth::Ready } else { ReplicaHealth::Starting };
        self.is_probed().then(|| of(self.is_ready))
    }

    const fn is_probed(&self) -> bool {
        self.is_first && self.replica.is_some()
    }

    fn tick(&mut self, now: Time, node: &NodeName) {
        let fails = self.behaviour.fails_on.as_ref() == Some(node);
        let is_sick = self.behaviour.fault_on.as_ref() == Some(node);
        self.is_ready |= self.ready_at().is_some_and(|at| at <= now);
        match self.stage {
            Stage::Preparing(at) if at <= now && fails => {
                let message = format!("{node}: the directory of the job is not there");
                let failed = self.end_report(EndCause::LaunchFailed, 0, None, at);
                self.stage = Stage::Ended(StepEnd { message: Some(message), ..failed });
            }
            Stage::Preparing(at) if at <= now && is_sick => {
                let message = format!("{node}: the spool is full");
                let failed = self.end_report(EndCause::NodeFault, 0, None, at);
                self.stage = Stage::Ended(StepEnd { message: Some(message), ..failed });
            }
            Stage::Preparing(at) if at <= now => self.stage = Stage::Ready,
            Stage::Running(since, Some((at, cause))) if at <= now => {
                let code = if cause == EndCause::Exited { self.behaviour.exit_code } else { 0 };
                self.stage = Stage::Ended(self.end_report(cause, code, Some(since), at));
            }
            Stage::Stopping(since, at) if at <= now => {
                self.stage = Stage::Ended(self.end_report(EndCause::Stopped, 0, since, at));
            }
            _ => {}
        }
    }

    fn end_report(
        &self,
        cause: EndCause,
        code: u8,
        started_at: Option<Time>,
        ended_at: Time,
    ) -> StepEnd {
        let signal = match cause {
            EndCause::OutOfMemory => Some(9),
            EndCause::TimedOut | EndCause::Stopped | EndCause::NotLive => started_at.map(|_| 15),
            EndCause::Exited
            | EndCause::LaunchFailed
            | EndCause::NodeFault
            | EndCause::UnclearFault
            | EndCause::Lost => None,
        };
        let exit = ExitStatus { code, signal };
        let (usage, steps) = (Usage::default(), Vec::new());
        let held = Some(ended_at.since(self.launched_at));
        let (ran, message) = (started_at.map(|at| ended_at.since(at)), None);
        StepEnd { cause, exit, started_at, ended_at, held, ran, usage, message, steps }
    }
}
