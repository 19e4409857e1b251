//! Checks moves: that these jobs may be moved, and that all of them have a place afterwards, by
//! counts of its own. It does not check whether fewer moves would have been enough, nor links and
//! cores.

use super::Judge;
use super::dues::Of;
use crate::model::decision::Decision;
use crate::model::job::{RunningJob, WaitingJob};
use crate::round::round_result::Round;
use common::id::{JobKey, NodeName};
use common::job::PreemptReason;
use common::policy::VictimMode;
use common::resource::{Allocation, GpuRequest, MemoryRequest, Share};
use common::time::Span;
use std::collections::{BTreeMap, BTreeSet};

const AN_HOUR: Span = Span::from_minutes(60);

/// An amount that is held or free: thousandths of GPUs, CPUs, bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    gpu_milli: i128,
    cpus: i128,
    memory_bytes: i128,
}

impl Counts {
    fn of(share: &Share) -> Self {
        let each = share.gpu_milli.map_or(1000, |milli| i128::from(milli.0));
        Self {
            gpu_milli: each * share.gpus.len() as i128,
            cpus: i128::from(share.cpus.len()),
            memory_bytes: i128::from(share.memory.0),
        }
    }

    const fn plus_times(self, other: Self, times: i128) -> Self {
        Self {
            gpu_milli: self.gpu_milli + times * other.gpu_milli,
            cpus: self.cpus + times * other.cpus,
            memory_bytes: self.memory_bytes + times * other.memory_bytes,
        }
    }

    const fn divided_by(self, pieces: i128) -> Self {
        Self {
            gpu_milli: self.gpu_milli / pieces,
            cpus: self.cpus / pieces,
            memory_bytes: self.memory_bytes / pieces,
        }
    }

    /// How many such pieces fit into this amount.
    fn fitting_pieces(self, piece: Self) -> i128 {
        let of = |has: i128, each: i128| if each > 0 { has.max(0) / each } else { i128::MAX };
        let by_gpu = of(self.gpu_milli, piece.gpu_milli);
        by_gpu.min(of(self.cpus, piece.cpus)).min(of(self.memory_bytes, piece.memory_bytes))
    }

    const fn is_within(self, other: Self) -> bool {
        self.gpu_milli <= other.gpu_milli
            && self.cpus <= other.cpus
            && self.memory_bytes <= other.memory_bytes
    }
}

impl<'a> Judge<'a> {
    /// Checks that a job may be moved there for another.
    pub(super) fn check_move(&mut self, victim: &RunningJob, by: &WaitingJob, to: &[NodeName]) {
        let policy = self.snapshot.policy();
        let moves = policy.moves;
        self.require(policy.fair_sharing, "moves where queues do not share fairly");
        self.require(victim.preemptible, "moves though it is not preemptible");
        self.require(victim.victim_mode == VictimMode::Requeue, "moves and would not wait again");
        self.require(!to.is_empty(), "moves to no place");
        self.require(victim.nodes_min.is_none(), "moves though it could give nodes up");
        let again = self.snapshot.movable.get(&victim.key);
        let is_free = again.is_some_and(|again| {
            let meets = again.deadline.or(again.earliest_start()).is_some_and(|at| at > self.now);
            !meets && again.reservation.is_none() && !again.service && again.together.is_none()
        });
        self.require(is_free, "moves and has something to meet, or would not wait again");
        let queue = self.queues.get(&by.queue).copied();
        let qos = policy.qos.iter().find(|qos| Some(&qos.name) == by.qos.as_ref());
        let says = by.preemptible.or_else(|| qos.and_then(|qos| qos.preemptible));
        let yields = says.or_else(|| queue.map(|queue| queue.preemption.preemptible));
        self.require(yields == Some(true), "moves for a job that is not preemptible");
        let least = self.protection_time(victim, by, PreemptReason::Move);
        let has_run = self.now.since(victim.started_at);
        self.require(has_run >= least, "is moved before it has run for long enough");
        let held = sum(&victim.allocation);
        self.require(held.gpu_milli > 0, "moves though it holds no GPU");
        let unsaved = victim.saved_at.map_or(has_run, |at| has_run.min(self.now.since(at)));
        let lost_minutes = held.gpu_milli * i128::from(unsaved.0) / 1000 / 60_000;
        let is_cheap = lost_minutes <= i128::from(moves.lost_gpu_minutes_max);
        self.require(is_cheap, "moves and loses more than the policy allows");
        self.moved += 1;
        let recent =
            self.snapshot.move_times().iter().filter(|at| **at + AN_HOUR > self.now).count();
        let is_within = recent as u64 + self.moved <= u64::from(moves.per_hour);
        self.require(is_within, "moves though the hour's moves are used up");
    }

    /// All moved jobs have a place once the jobs that leave are gone.
    pub(super) fn check_movers_have_places(&mut self, decisions: &'a [Decision]) {
        let movers = movers(decisions);
        if movers.is_empty() {
            return;
        }
        let nodes: BTreeSet<&NodeName> = movers.iter().flat_map(|(_, _, to)| to.iter()).collect();
        let free = self.free_later(&nodes, decisions);
        let mut all = free.values().fold(Counts::default(), |sum, node| sum.plus_times(*node, 1));
        for (key, _, to) in movers {
            self.key = key;
            let Some(job) = self.snapshot.running_job(key) else { continue };
            let is_loose = self.may_spread_differently(key);
            for (at, share) in job.allocation.shares().iter().enumerate() {
                let wants = Counts::of(share);
                // On fewer nodes, what it asks for per node is needed fewer times.
                let counted = if at < to.len() { wants } else { self.without_by_node(key, wants) };
                all = all.plus_times(counted, -1);
                let fits =
                    |node: &NodeName| free.get(node).is_some_and(|free| wants.is_within(*free));
                let has_place = is_loose || to.iter().any(fits);
                self.require(has_place, "moves to where it has no place");
            }
            if is_loose {
                let tasks = i128::from(job.allocation.tasks().0.max(1));
                let piece = sum(&job.allocation).divided_by(tasks);
                let room = to
                    .iter()
                    .filter_map(|node| free.get(node))
                    .map(|node| node.fitting_pieces(piece));
                self.require(room.sum::<i128>() >= tasks, "moves to where its tasks have no place");
            }
        }
        self.require(Counts::default().is_within(all), "moves with others to one place");
        self.groups_have_room(decisions);
    }

    /// No move brings more jobs of a group to a node than its jobs allow there.
    fn groups_have_room(&mut self, decisions: &'a [Decision]) {
        let goes: BTreeSet<JobKey> = decisions
            .iter()
            .filter_map(|one| match one {
                Decision::Preempt { key, .. } => Some(*key),
                _ => None,
            })
            .collect();
        let mut there: BTreeMap<(&str, &NodeName), u32> = BTreeMap::new();
        let snapshot = self.snapshot;
        for job in snapshot.all_running().filter(|job| !job.ending && !goes.contains(&job.key)) {
            let shares = job.group.as_deref().into_iter().flat_map(|group| {
                job.allocation.shares().iter().map(move |share| (group, &share.node))
            });
            shares.for_each(|place| *there.entry(place).or_default() += 1);
        }
        let apart = |key| snapshot.movable.get(&key)?.request.apart.as_ref();
        let movers = || {
            movers(decisions).into_iter().filter_map(|(key, _, to)| Some((key, apart(key)?, to)))
        };
        for (_, apart, to) in movers() {
            to.iter().for_each(|node| *there.entry((&apart.group, node)).or_default() += 1);
        }
        for (key, apart, to) in movers() {
            self.key = key;
            let is_over = |node| {
                let jobs = there.get(&(apart.group.as_str(), node)).copied().unwrap_or(0);
                apart.per_node_max.is_some_and(|most| jobs > most)
            };
            self.require(!to.iter().any(is_over), "moves to where too many of its group are");
        }
    }

    /// What remains without the part that is asked for per node.
    fn without_by_node(&self, key: JobKey, wants: Counts) -> Counts {
        let Some(again) = self.snapshot.movable.get(&key) else { return wants };
        let request = &again.request;
        let by_node = |is: bool, of: i128| if is { 0 } else { of };
        let gpus = matches!(request.gpus, Some(GpuRequest::PerNode(_)));
        let memory = matches!(request.memory, Some(MemoryRequest::PerNode(_)));
        Counts {
            gpu_milli: by_node(gpus, wants.gpu_milli),
            memory_bytes: by_node(memory, wants.memory_bytes),
            ..wants
        }
    }

    /// Whether its tasks may be spread differently over nodes: with GPUs per task and no number of
    /// nodes, they need not stay together.
    fn may_spread_differently(&self, key: JobKey) -> bool {
        let again = self.snapshot.movable.get(&key).map(|again| &again.request);
        again.is_some_and(|request| {
            request.nodes.is_none() && matches!(request.gpus, Some(GpuRequest::PerTask(_)))
        })
    }

    /// Jobs move only for a job that has room reserved, next to their new places.
    pub(super) fn check_moves_make_room(&mut self, round: &'a Round) {
        let mut all: BTreeMap<JobKey, Vec<(JobKey, &[NodeName])>> = BTreeMap::new();
        for (key, by, to) in movers(&round.decisions) {
            all.entry(by).or_default().push((key, to));
        }
        for (by, movers) in all {
            self.key = movers[0].0;
            let Some(kept) =
                round.planned_starts.get(&by).filter(|planned_start| planned_start.yielded)
            else {
                self.fault(format!("moves for job {by}, for which no room is kept"));
                continue;
            };
            let Some(by) = self.snapshot.waiting_job(by) else { continue };
            let to = movers.iter().flat_map(|(_, to)| to.iter());
            let nodes: BTreeSet<&NodeName> = to.chain(&kept.nodes).collect();
            let free = self.free_later(&nodes, &round.decisions);
            let free = free.values().fold(Counts::default(), |sum, node| sum.plus_times(*node, 1));
            let placed = movers.iter().filter_map(|(key, _)| self.snapshot.running_job(*key));
            let placed: i128 = placed.map(|job| sum(&job.allocation).gpu_milli).sum();
            // A job that asks for GPUs by the node may need fewer than one node's for each task.
            let is_sure = by.request.nodes.is_some()
                || by.request.tasks.0 == 1
                || !matches!(by.request.gpus, Some(GpuRequest::PerNode(_)));
            let asks = if is_sure { self.requested_amount(Of::Gpus, by, true) } else { 0 };
            let asks = i128::try_from(asks).unwrap_or(i128::MAX);
            self.require(placed + asks <= free.gpu_milli, "moves, and there is not room for all");
        }
    }

    /// What is free on these nodes once the jobs that leave or are stopped are gone.
    fn free_later<'n>(
        &self,
        nodes: &BTreeSet<&'n NodeName>,
        decisions: &[Decision],
    ) -> BTreeMap<&'n NodeName, Counts> {
        let mut free = BTreeMap::new();
        for node in self.snapshot.nodes() {
            let Some(name) = nodes.get(&node.name).filter(|_| node.unusable.is_none()) else {
                continue;
            };
            let has = &node.inventory;
            let whole = Counts {
                gpu_milli: 1000 * has.gpus.len() as i128,
                cpus: i128::from(has.cpus.len()),
                memory_bytes: i128::from(has.memory.0),
            };
            free.insert(*name, whole);
        }
        let (mut goes, mut keeps) = (BTreeSet::new(), BTreeMap::new());
        let mut take = |share: &Share| {
            if let Some(free) = free.get_mut(&share.node) {
                *free = free.plus_times(Counts::of(share), -1);
            }
        };
        for decision in decisions {
            match decision {
                Decision::Start { allocation, .. } => {
                    allocation.shares().iter().for_each(&mut take);
                }
                Decision::Grow { shares, .. } => shares.iter().for_each(&mut take),
                Decision::Preempt { key, .. } => _ = goes.insert(*key),
                Decision::Shrink { key, keeps: many, .. } => {
                    keeps.insert(*key, many.0 as usize);
                }
            }
        }
        for job in self.snapshot.all_running() {
            if !job.ending && !goes.contains(&job.key) {
                let many = keeps.get(&job.key).copied().unwrap_or(usize::MAX);
                job.staying_shares().iter().take(many).for_each(&mut take);
            }
        }
        free
    }
}

fn sum(allocation: &Allocation) -> Counts {
    allocation
        .shares()
        .iter()
        .fold(Counts::default(), |sum, share| sum.plus_times(Counts::of(share), 1))
}

/// The moves: the job, the job that it moves for, and its new nodes.
fn movers(decisions: &[Decision]) -> Vec<(JobKey, JobKey, &[NodeName])> {
    let mover = |decision| match decision {
        &Decision::Preempt { key, by, reason: PreemptReason::Move, ref to, .. } => {
            Some((key, by, to.as_slice()))
        }
        _ => None,
    };
    decisions.iter().filter_map(mover).collect()
}
