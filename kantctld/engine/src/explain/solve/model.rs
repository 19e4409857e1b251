//! The cluster in counts: what each node has left apart from jobs that stay, the movable jobs
//! there, and what the parts of each job take. Counts never demand more than real places do.

use super::item::{Amounts, CPUS, GPU_MILLI, MEMORY, Parts, WHOLE_GPUS};
use crate::model::cluster::node::{Holder, Node as FloorNode};
use crate::model::cluster::{ClusterIndex, NodeIndex};
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::shape_cache::ShapeIndex;
use crate::round::fair_share::may_move;
use crate::round::planner::RoundState;
use common::id::JobKey;
use common::resource::{GpuRequest, Share};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The index of a job that looks for a place: 0 is the waiting one, then come the movable ones.
pub(super) type Owner = usize;

/// A node that jobs may start on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub at: NodeIndex,
    /// Nodes of one kind suit the same jobs and have the same equipment.
    pub kind: usize,
    pub free: Amounts,
    /// Thousandths in use of each GPU.
    used: Vec<i64>,
    /// The number of jobs there that stay.
    pub fixed: u32,
    /// The movable jobs there, including those with whole nodes, the cheapest of each type first.
    pub present: Vec<Owner>,
    /// The jobs placed there: the type of job, and the number of its parts.
    pub placed: BTreeMap<usize, u32>,
    /// Whether a job placed there has the node to itself.
    pub is_closed: bool,
}

/// A job that looks for a place.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub key: JobKey,
    pub parts: Parts,
    /// Whether each kind of node suits it.
    pub suits: Vec<bool>,
    /// What it holds, by index of the model's nodes.
    pub held: Vec<(usize, Share)>,
    pub has_whole_nodes: bool,
    /// Jobs of one type are interchangeable.
    pub kind: usize,
    /// What it would lose, in minutes of one GPU.
    pub lost_gpu_minutes: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Model {
    pub nodes: Vec<Node>,
    pub jobs: Vec<Job>,
    /// The movable jobs: all but the first of `jobs`.
    pub movers: Vec<JobKey>,
}

/// The properties that make jobs interchangeable: what they ask for, and what they hold.
type Type = (ShapeIndex, bool, Vec<(usize, u32, u64)>, Option<JobKey>);

impl Model {
    /// The model for this waiting job. Jobs that are leaving count as gone.
    pub fn of<'a>(state: &mut RoundState<'a>, job: &'a Arc<WaitingJob>, shape: ShapeIndex) -> Self {
        let snapshot = state.snapshot;
        let mut movers: Vec<(&'a Arc<RunningJob>, ShapeIndex, u64)> = Vec::new();
        for running in snapshot.all_running() {
            let again = snapshot.movable.get(&running.key);
            let Some(again) = again.filter(|_| may_move(state, running)) else { continue };
            let Some(queue) = state.queues.get(&again.queue) else { continue };
            let lost = lost_gpu_minutes(running, state);
            movers.push((running, state.shape_for(queue, again), lost));
        }
        movers.sort_by_key(|(running, _, lost)| (*lost, running.key));
        let shapes: Vec<ShapeIndex> =
            std::iter::once(shape).chain(movers.iter().map(|(_, shape, _)| *shape)).collect();
        let (mut nodes, suits) = usable_nodes_as_idle(state, &shapes);
        let places: BTreeMap<NodeIndex, usize> =
            nodes.iter().enumerate().map(|(place, node)| (node.at, place)).collect();
        let mut jobs = vec![Job {
            key: job.key,
            parts: Parts::of(state.shapes.get(shape)),
            suits: suits[&shape].clone(),
            held: Vec::new(),
            has_whole_nodes: false,
            kind: 0,
            lost_gpu_minutes: 0,
        }];
        let mut types: BTreeMap<Type, usize> = BTreeMap::new();
        for (running, shape, lost) in &movers {
            let of = |share: &Share| {
                let at = snapshot.cluster.find(&share.node)?;
                Some((*places.get(&at)?, share.clone()))
            };
            let shares = running.allocation.shares();
            let held: Vec<(usize, Share)> = shares.iter().filter_map(of).collect();
            let parts = Parts::of(state.shapes.get(*shape));
            // A job on several nodes or with parts of GPUs is interchangeable with no other.
            let is_plain = shares.len() == 1 && parts.each.len() == 1;
            let is_plain = is_plain && shares.iter().all(|share| share.gpu_milli.is_none());
            let size = |share: &Share| (share.gpus.len(), share.cpus.len(), share.memory.0);
            let sizes = shares.iter().map(size);
            let unique = (!is_plain).then_some(running.key);
            let of_type = (*shape, running.whole_nodes, sizes.collect(), unique);
            let next = types.len() + 1;
            jobs.push(Job {
                key: running.key,
                parts,
                suits: suits[shape].clone(),
                held,
                has_whole_nodes: running.whole_nodes,
                kind: *types.entry(of_type).or_insert(next),
                lost_gpu_minutes: *lost,
            });
        }
        register_jobs_on_nodes(state, &mut nodes, &jobs);
        Self { nodes, jobs, movers: movers.iter().map(|(running, ..)| running.key).collect() }
    }

    /// The nodes with every movable job lifted.
    pub fn nodes_with_all_lifted(&self, cluster: &ClusterIndex) -> Vec<Node> {
        let mut nodes = self.nodes.clone();
        for (owner, job) in self.jobs.iter().enumerate() {
            for (place, share) in &job.held {
                let node = &mut nodes[*place];
                node.lift(cluster.node(node.at), owner, share);
            }
        }
        nodes
    }
}

/// Registers which jobs are on each node, and subtracts what they hold.
fn register_jobs_on_nodes(state: &RoundState<'_>, nodes: &mut [Node], jobs: &[Job]) {
    let cluster = &state.snapshot.cluster;
    let owners: BTreeMap<JobKey, Owner> =
        jobs.iter().enumerate().skip(1).map(|(owner, job)| (job.key, owner)).collect();
    for node in nodes {
        for holder in &cluster.node(node.at).holders {
            if state.goes_from(holder.key, node.at) {
                continue;
            }
            match owners.get(&holder.key) {
                Some(owner) => node.present.push(*owner),
                None => node.fixed += 1,
            }
            node.hold(cluster.node(node.at), holder);
        }
        // In `jobs`, those that lose less come first.
        node.present.sort_unstable_by_key(|owner| (jobs[*owner].kind, *owner));
        node.is_closed = cluster.node(node.at).holders.iter().any(|holder| {
            let stays = !owners.contains_key(&holder.key);
            holder.whole_node && stays && !state.goes_from(holder.key, node.at)
        });
    }
}

/// What a job has used since its start or last checkpoint, in minutes of one GPU.
pub(super) fn lost_gpu_minutes(job: &RunningJob, state: &RoundState<'_>) -> u64 {
    let shares = job.allocation.shares().iter();
    let milli: u64 = shares.map(|share| u64::try_from(share_gpu_milli(share)).unwrap_or(0)).sum();
    milli.saturating_mul(state.now.since(job.unsaved_since()).0) / 1000 / 60_000
}

fn share_gpu_milli(share: &Share) -> i64 {
    let each = share.gpu_milli.map_or(1000, |milli| i64::from(milli.0));
    each * i64::try_from(share.gpus.len()).unwrap_or(0)
}

/// The nodes that jobs may start on, as if idle, and which kinds of them suit each shape.
fn usable_nodes_as_idle(
    state: &RoundState<'_>,
    shapes: &[ShapeIndex],
) -> (Vec<Node>, BTreeMap<ShapeIndex, Vec<bool>>) {
    let cluster = &state.snapshot.cluster;
    let mut asked: Vec<ShapeIndex> = shapes.to_vec();
    asked.sort_unstable();
    asked.dedup();
    let suits = |shape: ShapeIndex, at: NodeIndex| {
        let (shape, node) = (state.shapes.get(shape).with_fewest_tasks(), cluster.node(at));
        let request = shape.demand.request;
        let asks_gpus = !matches!(request.gpus, None | Some(GpuRequest::Total(_)));
        let accepted = node.class.accepted_positions(request) != 0 || !asks_gpus;
        accepted && shape.may_ever_use(cluster, at)
    };
    let mut kinds = BTreeMap::new();
    let mut by_kind: Vec<Vec<bool>> = Vec::new();
    let mut nodes = Vec::new();
    for (at, node) in cluster.nodes().filter(|(_, node)| node.is_usable()) {
        let suit: Vec<bool> = asked.iter().map(|shape| suits(*shape, at)).collect();
        let is_booked = !state.bookings.on(at).is_empty();
        let position = format!("{:?}", node.position);
        let next = by_kind.len();
        let kind = (suit.clone(), node.class.key(), is_booked, position);
        let kind = *kinds.entry(kind).or_insert(next);
        if kind == next {
            by_kind.push(suit);
        }
        nodes.push(Node::idle(at, kind, node));
    }
    let of = |at: usize| by_kind.iter().map(|suit| suit[at]).collect();
    let suits = asked.iter().enumerate().map(|(at, shape)| (*shape, of(at))).collect();
    (nodes, suits)
}

impl Node {
    fn idle(at: NodeIndex, kind: usize, node: &FloorNode) -> Self {
        let class = &node.class;
        let gpus = class.gpu_count().0;
        let memory = i64::try_from(class.inventory.memory.0).unwrap_or(i64::MAX / 4);
        let all = i64::from(gpus) * 1000;
        Self {
            at,
            kind,
            free: [all, all, i64::from(class.core_cpus.0), memory],
            used: vec![0; gpus as usize],
            fixed: 0,
            present: Vec::new(),
            placed: BTreeMap::new(),
            is_closed: false,
        }
    }

    fn hold(&mut self, node: &FloorNode, holder: &Holder) {
        self.change(node, holder.share(), 1);
    }

    /// Lifts a job from this node.
    pub fn lift(&mut self, node: &FloorNode, owner: Owner, share: &Share) {
        self.present.retain(|other| *other != owner);
        self.change(node, share, -1);
    }

    fn change(&mut self, node: &FloorNode, share: &Share, times: i64) {
        let each = times * share.gpu_milli.map_or(1000, |milli| i64::from(milli.0));
        for at in share.gpus.iter().filter_map(|index| node.class.position(*index)) {
            let Some(used) = self.used.get_mut(at) else { continue };
            let before = i64::from(*used > 0);
            *used += each;
            self.free[WHOLE_GPUS] -= 1000 * (i64::from(*used > 0) - before);
            self.free[GPU_MILLI] -= each;
        }
        self.free[CPUS] -= times * i64::from(share.cpus.len());
        self.free[MEMORY] -= times * i64::try_from(share.memory.0).unwrap_or(0);
    }

    /// Whether a part of this job may be put here with the jobs that are present.
    pub fn holds(&self, jobs: &[Job], owner: Owner, part: &Amounts) -> bool {
        let job = &jobs[owner];
        let has_one_alone = self.present.iter().any(|other| jobs[*other].has_whole_nodes);
        let others = self.fixed > 0 || !self.present.is_empty() || !self.placed.is_empty();
        let is_taken = self.is_closed || has_one_alone || (job.parts.whole_node && others);
        let own = self.placed.get(&distinguishing_owner(job, owner)).copied().unwrap_or(0);
        let is_full = job.parts.each.len() > 1 && own >= job.parts.per_node;
        !is_taken && !is_full && part.iter().zip(&self.free).all(|(part, free)| part <= free)
    }

    /// Puts a part here.
    pub fn put(&mut self, jobs: &[Job], owner: Owner, part: &Amounts) {
        let job = &jobs[owner];
        self.free.iter_mut().zip(part).for_each(|(free, part)| *free -= part);
        *self.placed.entry(distinguishing_owner(job, owner)).or_default() += 1;
        self.is_closed |= job.parts.whole_node;
    }
}

/// Jobs of one part need not be distinguished once they are placed.
pub(super) fn distinguishing_owner(job: &Job, owner: Owner) -> usize {
    if job.parts.each.len() == 1 { usize::MAX } else { owner }
}
