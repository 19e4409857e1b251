//! Runs the rounds of a case on the world of `engine::fair`.

use super::format::{Case, Phase};
use super::player::{Became, Did, Outcome, Player};
use engine::fair::world::{NodeAt, TaskAt, TaskState};
use engine::fair::{Act, Plan, Step, World, plan};

/// What a plan does, in tasks.
fn did(plan: &Plan) -> Did {
    let count = |is: fn(&Act) -> bool| plan.acts.values().filter(|act| is(act)).count();
    let moves = count(|act| matches!(act, Act::Move(..)));
    Did {
        starts: count(|act| matches!(act, Act::Start(..))),
        evictions: moves + count(|act| matches!(act, Act::Evict(..))),
        reservations: moves + count(|act| matches!(act, Act::Reserve(..))),
    }
}

/// The steps of a case's rounds.
#[must_use]
pub fn steps(case: &Case) -> Vec<Step> {
    let step = |phase: &Phase| match phase {
        Phase::Allocate => Step::Allocate,
        Phase::Consolidate => Step::Consolidate,
        Phase::Reclaim => Step::Reclaim,
        Phase::Preempt => Step::Preempt,
        Phase::StaleGangEvict => Step::Stale,
    };
    case.phases.iter().map(step).collect()
}

/// A case in progress.
pub struct Playing<'c> {
    case: &'c Case,
    world: World,
    steps: Vec<Step>,
    plan: Plan,
}

impl<'c> Playing<'c> {
    #[must_use]
    pub fn new(case: &'c Case, world: World) -> Self {
        Self { case, world, steps: steps(case), plan: Plan::default() }
    }

    /// What a round does with each task.
    fn decided(&self, plan: &Plan) -> Vec<Became> {
        let each = self.world.tasks.iter().enumerate();
        each.map(|(at, task)| {
            let node = |at: NodeAt| Some(self.world.nodes[at.0].name.clone());
            let (status, node, outcome) = match (plan.acts.get(&TaskAt(at)), task.state) {
                (Some(Act::Start(at, _)), _) => ("binding", node(*at), "started"),
                (Some(Act::Reserve(at, _)), _) => ("pipelined", node(*at), "reserved"),
                (Some(Act::Evict(..)), _) => ("releasing", task.node.and_then(node), "evicted"),
                (Some(Act::Move(at, ..)), _) => ("pipelined", node(*at), "moved"),
                (None, TaskState::Waiting) => ("pending", None, "waits"),
                (None, TaskState::Gated) => ("gated", None, "waits"),
                (None, TaskState::Running) => ("running", task.node.and_then(node), "kept"),
                (None, TaskState::Leaving) => ("releasing", task.node.and_then(node), "draining"),
                (None, TaskState::Stuck) => {
                    ("stuck_in_releasing", task.node.and_then(node), "unchanged")
                }
                (None, TaskState::Promised) => ("pipelined", task.node.and_then(node), "waits"),
                (None, TaskState::Failed) => ("failed", task.node.and_then(node), "unchanged"),
                (None, TaskState::Succeeded) => {
                    ("succeeded", task.node.and_then(node), "unchanged")
                }
            };
            Became { status, node, outcome }
        })
        .collect()
    }
}

impl Player for Playing<'_> {
    fn round(&mut self) -> Outcome {
        self.plan = plan(&self.world, &self.steps);
        let first = self.plan.acts.iter().next();
        let shown = first.map(|(task, act)| format!("{} {act:?}", self.world.tasks[task.0].name));
        Outcome {
            became: self.decided(&self.plan),
            did: did(&self.plan),
            example: shown.unwrap_or_default(),
            fault: None,
        }
    }

    fn state(&self) -> Vec<Became> {
        let nothing = Plan::default();
        let each = self.decided(&nothing).into_iter();
        each.map(|became| Became { outcome: "", ..became }).collect()
    }

    fn enact(&mut self, is_first: bool) {
        let plan = std::mem::take(&mut self.plan);
        for (at, (node, devices)) in &plan.seated {
            let task = &mut self.world.tasks[at.0];
            (task.node, task.devices) = (Some(*node), Some(devices.clone()));
        }
        for at in 0..self.world.tasks.len() {
            let act = plan.acts.get(&TaskAt(at));
            let is_deleted = self.case.jobs[self.world.job_of[at].0].deleted_by_user;
            let task = &mut self.world.tasks[at];
            let state = match (act, task.state) {
                (Some(Act::Start(..)), _) => TaskState::Running,
                (Some(Act::Evict(..) | Act::Move(..)), _) if is_deleted => TaskState::Leaving,
                (Some(Act::Evict(..) | Act::Move(..)), _) => TaskState::Waiting,
                (None, TaskState::Leaving) if is_first && !is_deleted => TaskState::Waiting,
                _ => continue,
            };
            task.state = state;
            if state == TaskState::Waiting {
                (task.node, task.devices, task.device_names) = (None, None, Vec::new());
            }
        }
    }
}
