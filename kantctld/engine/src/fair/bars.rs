//! Where the desk refused what a plan believed, so that the next plan of the round is another.
//! Never takes a job's turn away for one refusal: it may still have what others have to leave.
//!
//! Source: ours. A plan counts CPUs, memory and devices, and not what is booked for later, whole
//! cores, links, nor how many of a kind a node takes; free room that is no room for a job must not
//! stand between it and what it is due.

use super::board::Board;
use super::seat::look;
use super::view::View;
use super::world::{JobAt, NodeAt};
use crate::desk::Desk;
use crate::floor::NodeIndex;
use crate::shape::ShapeIndex;
use crate::snapshot::WaitingJob;
use common::id::JobKey;
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// So often the desk refuses a job's start before it is out of the round.
const STARTS_MAX: u32 = 3;
/// And a room that others would have to leave.
const ROOMS_MAX: u32 = 2;
/// So many jobs and nodes are looked at before a plan; the others go by what the plan counts.
const LOOKS_MAX: usize = 1_000_000;

/// What was refused so far.
#[derive(Debug, Default)]
pub(super) struct Bars {
    /// Where a job was refused.
    nodes: BTreeMap<JobKey, BTreeSet<NodeIndex>>,
    /// Nodes where a job seemed to have room and had none.
    suspects: BTreeSet<NodeIndex>,
    starts: BTreeMap<JobKey, u32>,
    rooms: BTreeMap<JobKey, u32>,
}

/// Jobs alike, as far as that counts for where they may go: shape, and when they end.
type Class = (ShapeIndex, Time);

impl Bars {
    /// Of nodes that are booked for later it is looked who may have them until then.
    pub fn with_suspects(suspects: Vec<NodeIndex>) -> Self {
        Self { suspects: suspects.into_iter().collect(), ..Self::default() }
    }

    /// Was a job refused anything?
    pub fn has(&self, job: JobKey) -> bool {
        self.nodes.contains_key(&job)
    }

    /// Does it no longer take part in this round?
    pub fn is_out(&self, job: JobKey) -> bool {
        let count = |counts: &BTreeMap<JobKey, u32>| counts.get(&job).copied().unwrap_or(0);
        count(&self.starts) >= STARTS_MAX || count(&self.rooms) >= ROOMS_MAX
    }

    /// Others would have left these nodes for a job, and it would not have had room there.
    pub fn no_room(&mut self, job: JobKey, nodes: &[NodeIndex]) {
        self.nodes.entry(job).or_default().extend(nodes);
        *self.rooms.entry(job).or_default() += 1;
    }

    /// A job was to start on these nodes, and had no room there or anywhere: all that seems free to
    /// the plan is suspect. A job that is refused once more keeps off all of it.
    pub fn no_start(
        &mut self,
        (desk, view): (&Desk<'_>, &View<'_>),
        board: &Board<'_>,
        at: JobAt,
        nodes: &[NodeIndex],
    ) {
        let Some((job, shape)) = view.waiting.get(&at) else { return };
        let count = self.starts.entry(job.key).or_default();
        *count += 1;
        let is_again = *count > 1;
        let own = self.nodes.entry(job.key).or_default();
        own.extend(nodes);
        let all = (0..board.world.nodes.len()).map(NodeAt);
        for node in all.filter(|node| is_free(board, at, *node)).map(View::node) {
            if is_again {
                own.insert(node);
            }
            if !desk.would_hold(job, *shape, node) {
                self.suspects.insert(node);
            }
        }
    }

    /// Keeps the jobs of a view off where they have no room, whatever the plan counts.
    pub fn keep_off(&self, desk: &Desk<'_>, view: &mut View<'_>) {
        let mut known: BTreeMap<Class, BTreeSet<NodeIndex>> = BTreeMap::new();
        let mut lists: BTreeMap<JobAt, Vec<NodeAt>> = BTreeMap::new();
        let board = (!self.suspects.is_empty()).then(|| Board::new(&view.world));
        for (at, (job, shape)) in &view.waiting {
            let mut nodes = self.nodes.get(&job.key).cloned().unwrap_or_default();
            let class = (*shape, desk.ends_by(job.time_limit));
            let looks = known.len().saturating_mul(self.suspects.len());
            // What is kept for a job is no bar to it.
            let is_bound = looks < LOOKS_MAX && !desk.is_promised(job.key);
            if let Some(board) = board.as_ref().filter(|_| is_bound) {
                let refused = || self.refused(desk, board, (*at, job, *shape));
                nodes.extend(known.entry(class).or_insert_with(refused).iter().copied());
            }
            if !nodes.is_empty() {
                lists.insert(*at, nodes.into_iter().map(|node| NodeAt(node.at())).collect());
            }
        }
        for (at, set) in &view.sets {
            if let Some(nodes) = self.nodes.get(&set.first) {
                lists.insert(*at, nodes.iter().map(|node| NodeAt(node.at())).collect());
            }
        }
        for (at, nodes) in lists {
            let nodes = Arc::new(nodes);
            for task in view.world.jobs[at.0].tasks.clone() {
                view.world.tasks[task.0].not_nodes = Some(nodes.clone());
            }
        }
        let own: Vec<JobAt> = view
            .waiting
            .iter()
            .filter(|(_, (job, _))| self.has(job.key))
            .map(|(at, _)| *at)
            .collect();
        // What it may have is its own: nothing follows from others.
        own.into_iter().for_each(|at| view.world.jobs[at.0].alike = None);
    }

    /// Where a job seems to have room and has none.
    fn refused(
        &self,
        desk: &Desk<'_>,
        board: &Board<'_>,
        (at, job, shape): (JobAt, &WaitingJob, ShapeIndex),
    ) -> BTreeSet<NodeIndex> {
        let is_refused = |node: &NodeIndex| {
            is_free(board, at, NodeAt(node.at())) && !desk.would_hold(job, shape, *node)
        };
        self.suspects.iter().copied().filter(is_refused).collect()
    }
}

/// Has the node room for the smallest part of a job, as a plan counts?
fn is_free(board: &Board<'_>, at: JobAt, node: NodeAt) -> bool {
    let last = board.world.jobs[at.0].tasks.last();
    last.and_then(|task| look(board, *task, node)).is_some_and(|found| found.is_now)
}
