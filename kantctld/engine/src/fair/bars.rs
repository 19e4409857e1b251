//! The nodes where the desk refused what a plan assumed, so that the next plan of the round
//! differs. One refusal does not end a job's turn: it may still get nodes that others have to
//! leave.
//!
//! Source: ours. A plan counts CPUs, memory and devices. It does not count later bookings, whole
//! cores, links, or limits on the number of a kind per node. Free capacity that a job cannot use
//! must not keep it from what it is entitled to.

use super::board::Board;
use super::seat::look;
use super::view::View;
use super::world::{JobAt, NodeAt};
use crate::cluster::NodeIndex;
use crate::job::WaitingJob;
use crate::planner::RoundState;
use crate::shape_cache::ShapeIndex;
use common::id::JobKey;
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// After this many refused starts a job is out of the round.
const STARTS_MAX: u32 = 3;
/// After this many refused places that others would have had to leave, too.
const ROOMS_MAX: u32 = 2;
/// At most this many pairs of job class and node are checked before a plan. Beyond that, the plan's
/// own counts apply.
const LOOKS_MAX: usize = 1_000_000;

/// The refusals so far in this round.
#[derive(Debug, Default)]
pub(super) struct Bars {
    /// The nodes where each job was refused.
    nodes: BTreeMap<JobKey, BTreeSet<NodeIndex>>,
    /// Nodes where a job seemed to have room and had none.
    suspects: BTreeSet<NodeIndex>,
    starts: BTreeMap<JobKey, u32>,
    rooms: BTreeMap<JobKey, u32>,
}

/// The properties that decide where a job may go: its shape and when it ends.
type Class = (ShapeIndex, Time);

impl Bars {
    /// Nodes that are booked for later are checked for each job, as it may have them until then.
    pub fn with_suspects(suspects: Vec<NodeIndex>) -> Self {
        Self { suspects: suspects.into_iter().collect(), ..Self::default() }
    }

    /// Whether the job was refused any node.
    pub fn has(&self, job: JobKey) -> bool {
        self.nodes.contains_key(&job)
    }

    /// Whether the job no longer takes part in this round.
    pub fn is_out(&self, job: JobKey) -> bool {
        let count = |counts: &BTreeMap<JobKey, u32>| counts.get(&job).copied().unwrap_or(0);
        count(&self.starts) >= STARTS_MAX || count(&self.rooms) >= ROOMS_MAX
    }

    /// Notes that the job would not have room on these nodes even after others have left them.
    pub fn no_room(&mut self, job: JobKey, nodes: &[NodeIndex]) {
        self.nodes.entry(job).or_default().extend(nodes);
        *self.rooms.entry(job).or_default() += 1;
    }

    /// Notes that a job could not start on these nodes or anywhere else. Nodes that seem free to
    /// the plan and that the desk rejects become suspect. After a second refusal the job avoids all
    /// nodes that seem free.
    pub fn no_start(
        &mut self,
        (desk, view): (&RoundState<'_>, &View<'_>),
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

    /// Excludes each job from the nodes where it has no room, whatever the plan counts.
    pub fn keep_off(&self, desk: &RoundState<'_>, view: &mut View<'_>) {
        let mut known: BTreeMap<Class, BTreeSet<NodeIndex>> = BTreeMap::new();
        let mut lists: BTreeMap<JobAt, Vec<NodeAt>> = BTreeMap::new();
        let board = (!self.suspects.is_empty()).then(|| Board::new(&view.world));
        for (at, (job, shape)) in &view.waiting {
            let mut nodes = self.nodes.get(&job.key).cloned().unwrap_or_default();
            let class = (*shape, desk.ends_by(job.time_limit));
            let looks = known.len().saturating_mul(self.suspects.len());
            // Suspects do not bar a job that has nodes reserved.
            let is_bound = looks < LOOKS_MAX && !desk.has_planned_start(job.key);
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
        // Its nodes differ from those of jobs like it, so nothing follows from their failures.
        own.into_iter().for_each(|at| view.world.jobs[at.0].alike = None);
    }

    /// The suspect nodes where a job seems to have room and has none.
    fn refused(
        &self,
        desk: &RoundState<'_>,
        board: &Board<'_>,
        (at, job, shape): (JobAt, &WaitingJob, ShapeIndex),
    ) -> BTreeSet<NodeIndex> {
        let is_refused = |node: &NodeIndex| {
            is_free(board, at, NodeAt(node.at())) && !desk.would_hold(job, shape, *node)
        };
        self.suspects.iter().copied().filter(is_refused).collect()
    }
}

/// Whether the node has room for the job's smallest task, as a plan counts.
fn is_free(board: &Board<'_>, at: JobAt, node: NodeAt) -> bool {
    let last = board.world.jobs[at.0].tasks.last();
    last.and_then(|task| look(board, *task, node)).is_some_and(|found| found.is_now)
}
