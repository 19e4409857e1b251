//! The rounds of a case on a snapshot, and what becomes of its tasks.

use super::super::compare::tasks;
use super::super::format::{Case, Phase};
use super::super::player::{Became, Did, Outcome, Player};
use super::snapshot::{BEGIN, requeued};
use super::{Part, World};
use common::id::{JobKey, NodeName};
use common::job::{Moving, PreemptReason};
use common::policy::MOVE_KEPT;
use common::resource::Share;
use engine::check::check_decisions;
use engine::round::fair_share::{Passes, round_of};
use engine::{Decision, Round, Snapshot};
use std::collections::BTreeMap;

/// A case in progress.
pub struct SnapshotPlayer<'c> {
    case: &'c Case,
    world: World,
    round: Round,
    is_first: bool,
}

/// The nodes of a job's tasks, in the order of its tasks.
type Seats = Vec<NodeName>;

impl<'c> SnapshotPlayer<'c> {
    #[must_use]
    pub fn new(case: &'c Case, world: World) -> Self {
        Self { case, world, round: Round::default(), is_first: true }
    }

    fn enabled_passes(&self) -> Passes {
        let has = |phase| self.case.phases.contains(&phase);
        Passes {
            place: has(Phase::Allocate),
            moves: has(Phase::Consolidate),
            reclaim: has(Phase::Reclaim),
            preempt: has(Phase::Preempt),
        }
    }

    /// Where jobs start once all that leaves is gone: those for which the round keeps a place.
    fn seats_after_leaving(&self) -> BTreeMap<JobKey, Seats> {
        let mut then = self.world.snapshot.clone();
        carry_out(&self.world, &mut then, &self.round, self.is_first);
        let only_place = Passes { moves: false, reclaim: false, preempt: false, ..Passes::ALL };
        let round = round_of(&then, BEGIN, only_place);
        let start = |decision: &Decision| match decision {
            Decision::Start { key, allocation, .. } => Some((*key, seats(allocation.shares()))),
            _ => None,
        };
        round.decisions.iter().filter_map(start).collect()
    }

    /// Where the kept nodes are, if the job does not start there at once: its tasks evenly.
    fn seats_on_kept_nodes(
        &self,
        then: &BTreeMap<JobKey, Seats>,
        key: JobKey,
        nodes: &[NodeName],
    ) -> Seats {
        if let Some(seats) = then.get(&key) {
            return seats.clone();
        }
        let request = self.world.part(key).map(|part| &part.job.request);
        let least = request.map_or(0, |one| one.tasks_min.unwrap_or(one.tasks).0 as usize);
        let each = least.div_ceil(nodes.len().max(1));
        nodes.iter().flat_map(|node| std::iter::repeat_n(node.clone(), each)).take(least).collect()
    }

    /// What the round does with each task.
    fn decided(&self) -> Vec<Became> {
        let mut all = self.state();
        for became in &mut all {
            became.outcome = match became.status {
                "running" => "kept",
                "releasing" => "draining",
                _ => "waits",
            };
        }
        let then = self.seats_after_leaving();
        for decision in &self.round.decisions {
            match decision {
                Decision::Start { key, allocation, .. } => {
                    let seats = seats(allocation.shares());
                    self.set_outcome(&mut all, (*key, 0), &seats, ("binding", "started"));
                }
                Decision::Grow { key, shares, .. } => {
                    let has = self.seats_of(*key).len();
                    self.set_outcome(&mut all, (*key, has), &seats(shares), ("binding", "started"));
                }
                Decision::Preempt { key, reason: PreemptReason::Move, to, .. } => {
                    let seats = self.seats_on_kept_nodes(&then, *key, to);
                    self.set_outcome(&mut all, (*key, 0), &seats, ("pipelined", "moved"));
                }
                Decision::Preempt { key, .. } => {
                    self.set_outcome(
                        &mut all,
                        (*key, 0),
                        &self.seats_of(*key),
                        ("releasing", "evicted"),
                    );
                }
                Decision::Shrink { key, keeps, .. } => {
                    let had = self.seats_of(*key);
                    let shares = self.shares_of(*key);
                    let stay = seats(&shares[..shares.len().min(keeps.0 as usize)]).len();
                    self.set_outcome(
                        &mut all,
                        (*key, stay),
                        &had[stay..],
                        ("releasing", "evicted"),
                    );
                }
                _ => {}
            }
        }
        for (key, planned) in &self.round.planned_starts {
            if planned.yielded && self.world.snapshot.running_job(*key).is_none() {
                let seats = self.seats_on_kept_nodes(&then, *key, &planned.nodes);
                self.set_outcome(&mut all, (*key, 0), &seats, ("pipelined", "reserved"));
            }
        }
        all
    }

    fn shares_of(&self, key: JobKey) -> &[Share] {
        let running = self.world.snapshot.running_job(key);
        running.map_or(&[], |job| job.allocation.shares())
    }

    fn seats_of(&self, key: JobKey) -> Seats {
        seats(self.shares_of(key))
    }

    /// Notes what becomes of a job's tasks from the given one on.
    fn set_outcome(
        &self,
        all: &mut [Became],
        (key, from): (JobKey, usize),
        seats: &[NodeName],
        (status, outcome): (&'static str, &'static str),
    ) {
        let tasks = self.world.part(key).map_or(&[][..], |part| &part.tasks);
        for (task, node) in tasks.iter().skip(from).zip(seats) {
            all[*task] = Became { status, node: Some(node.to_string()), outcome };
        }
    }
}

/// The node of each task of these shares.
fn seats(shares: &[Share]) -> Seats {
    let each = |share: &Share| std::iter::repeat_n(share.node.clone(), share.tasks.0 as usize);
    shares.iter().flat_map(each).collect()
}

impl Player for SnapshotPlayer<'_> {
    fn round(&mut self) -> Outcome {
        self.round = round_of(&self.world.snapshot, BEGIN, self.enabled_passes());
        let became = self.decided();
        let count = |outcomes: &[&str]| {
            became.iter().filter(|became| outcomes.contains(&became.outcome)).count()
        };
        let did = Did {
            starts: count(&["started"]),
            evictions: count(&["evicted", "moved"]),
            reservations: count(&["reserved", "moved"]),
        };
        let acts = ["started", "evicted", "moved", "reserved"];
        let names = tasks(self.case).map(|(_, task)| task.id.as_str());
        let first = names.zip(&became).find(|(_, became)| acts.contains(&became.outcome));
        let example = first.map(|(name, became)| format!("{name} {}", became.outcome));
        let faults = check_decisions(&self.world.snapshot, BEGIN, &self.round.decisions);
        let fault = faults.first().map(ToString::to_string);
        Outcome { did, example: example.unwrap_or_default(), became, fault }
    }

    fn enact(&mut self, is_first: bool) {
        let round = std::mem::take(&mut self.round);
        let mut next = self.world.snapshot.clone();
        carry_out(&self.world, &mut next, &round, is_first);
        self.world.snapshot = next;
        self.is_first = false;
    }

    fn state(&self) -> Vec<Became> {
        let nothing = Became { status: "pending", node: None, outcome: "" };
        let mut all = vec![nothing; tasks(self.case).count()];
        for part in &self.world.parts {
            let key = part.job.key;
            let Some(job) = self.world.snapshot.running_job(key) else { continue };
            let status = if job.ending { "releasing" } else { "running" };
            self.set_outcome(&mut all, (key, 0), &self.seats_of(key), (status, ""));
        }
        all
    }
}

/// Carries out a round as if all that it stops were gone at once. `is_first`: so are the jobs that
/// were leaving before.
fn carry_out(world: &World, snapshot: &mut Snapshot, round: &Round, is_first: bool) {
    let leaving =
        |part: &&Part| world.snapshot.running_job(part.job.key).is_some_and(|job| job.ending);
    if is_first {
        for part in world.parts.iter().filter(leaving).filter(|part| !part.is_deleted) {
            snapshot.set_waiting(requeued(&part.job));
        }
    }
    snapshot.set_planned_starts(round.planned_starts.clone());
    snapshot.set_resume_cursor(round.resume_cursor.clone());
    for decision in &round.decisions {
        match decision {
            Decision::Start { key, allocation, .. } => {
                snapshot.start(*key, allocation.clone(), BEGIN);
            }
            Decision::Grow { key, shares, .. } => snapshot.grow(*key, shares),
            Decision::Shrink { key, keeps, .. } => snapshot.shrink(*key, *keeps),
            Decision::Preempt { key, to, .. } => {
                let Some(part) = world.part(*key) else { continue };
                snapshot.set_waiting(requeued(&part.job));
                let (to, until) = (to.clone(), BEGIN + MOVE_KEPT);
                snapshot.set_moving(*key, (!to.is_empty()).then_some(Moving { to, until }));
            }
            _ => {}
        }
    }
}
