//! An exact search for moves that make room for a waiting job, where the greedy one of the rounds
//! ([`crate::round::fair_share`]) found none: which running jobs would have to move, and where to,
//! or a proof that no moves make room, or that the search was given up. It answers a question and
//! moves nothing. It is slow, and never part of a round.
//!
//! Three steps. [`bound`] counts: if the nodes have too few free pieces of a size even with every
//! movable job lifted, nothing helps. [`search`] looks for the fewest moves (none, one, two ...) in
//! counts of GPUs, CPUs and memory by node, which demand less than real places do: if counts have
//! no room, there is none. [`trial`] tries what counts allow as a round would, with cores, links,
//! bookings and limits, and has the judge check it; only what both accept is an answer.
//!
//! Source: ours, branch and bound. The question is that of constraint-based packing of pods (arXiv
//! 2511.08373), which hands it to a general solver.
//! Reads: what a round reads, and [`Effort`]. Not the budget of moves: see [`without_move_limits`].
//!
//! Example, three nodes of 8 GPUs with 3, 5 and 8 in use by jobs of 3, 5 and 2 + 6. A job of 8
//! waits: the job of 3 has room next to that of 5. One move; the reverse would be one move as well,
//! but that job has used more.

mod bound;
mod changes;
mod choices;
mod item;
mod model;
mod opened;
mod search;
mod trial;

use crate::model::snapshot::Snapshot;
use crate::policy::admit::Refused;
use crate::round::planner::RoundState;
use common::id::{JobKey, NodeName};
use common::reason::WaitReason;
use common::time::Time;
pub use opened::without_move_limits;
use search::{Found, Search};

/// The most parts in a search, which goes one step deeper for each.
const PARTS_MAX: usize = 256;

/// The effort limits of a search.
pub struct Effort<'a> {
    /// The most places to look at.
    pub trials: u64,
    /// Called now and then; `true` stops the search.
    pub is_stopped: &'a dyn Fn() -> bool,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solution {
    pub verdict: Verdict,
    /// The number of places looked at.
    pub trials: u64,
    /// The number of running jobs that may be moved.
    pub movable: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// With these moves the job has room, and all jobs have a place.
    Moves {
        /// In the order in which places were found. Empty: there is room without moves.
        moves: Vec<Move>,
        /// The nodes that the job gets then.
        room: Vec<NodeName>,
        /// Whether it is proved that fewer moves are not enough.
        fewest: bool,
    },
    /// It is proved that no moves make room.
    Impossible(Impossible),
    /// Neither was found out.
    GaveUp(GaveUp),
}

/// One job that moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    pub key: JobKey,
    pub from: Vec<NodeName>,
    /// The nodes where it would go on.
    pub to: Vec<NodeName>,
    /// The work that would be lost, since its start or last checkpoint, in minutes of one GPU.
    pub lost_gpu_minutes: u64,
}

/// Why no moves make room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Impossible {
    /// The job may not start, whatever is free; `None`: it is held, or its begin time is in the
    /// future.
    MayNotStart(Option<WaitReason>),
    /// It would not fit on an idle cluster.
    NeverFits(WaitReason),
    /// With every movable job lifted, there are too few pieces of a size for them and the job.
    Counts(Count),
    /// All possible moves were searched.
    Exhausted,
}

/// The count that proves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    pub of: Counted,
    /// The size of the pieces: thousandths of GPUs, CPUs, bytes.
    pub size: u64,
    /// The number of pieces with room, with every movable job lifted.
    pub room: u64,
    /// The number of pieces needed.
    pub needed: u64,
    /// Whether only nodes that suit the job are counted.
    pub suiting: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    /// Thousandths of GPUs, shared or not.
    GpuMilli,
    /// Wholly free GPUs, in thousandths.
    WholeGpus,
    Cpus,
    /// Bytes of memory.
    Memory,
}

/// Why a search ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaveUp {
    /// The limit on places to look at was reached.
    Effort,
    /// It was stopped.
    Stopped,
    /// Counts allow arrangements, but none of them held with cores, links, bookings and limits.
    InDetail {
        /// The number of arrangements tried.
        arrangements: u64,
    },
    /// The job has more parts than a search supports.
    Parts { parts: usize },
    /// It is a component of a larger job, which starts as a whole.
    Component,
}

/// The answer, without a search, for a job that is not preemptible and exceeds its queue's quota.
/// Ask this of the original snapshot: in an [`without_move_limits`] one the job counts as
/// preemptible.
#[must_use]
pub fn over_quota_solution(snapshot: &Snapshot, now: Time, key: JobKey) -> Option<Solution> {
    let reason = crate::round::fair_share::exceeded_quota(snapshot, now, key)?;
    let verdict = Verdict::Impossible(Impossible::MayNotStart(Some(reason)));
    Some(Solution { verdict, trials: 0, movable: 0 })
}

/// The running jobs that would have to move for a waiting job to have room. The snapshot must be
/// [`without_move_limits`]; otherwise no job may move beyond the budget of the hour. `None`: no
/// such job waits.
#[must_use]
pub fn solve(snapshot: &Snapshot, now: Time, key: JobKey, effort: &Effort<'_>) -> Option<Solution> {
    let job = snapshot.waiting_job(key)?;
    let answer = |verdict| Some(Solution { verdict, trials: 0, movable: 0 });
    if job.together.is_some() {
        return answer(Verdict::GaveUp(GaveUp::Component));
    }
    let refused = |reason| answer(Verdict::Impossible(Impossible::MayNotStart(reason)));
    if snapshot.class_of(key).is_none() {
        return refused(None);
    }
    let mut state = RoundState::new(snapshot, now);
    state.protect_planned_starts();
    let Some(queue) = state.queues.get(&job.queue) else {
        return refused(Some(WaitReason::QueueGone { queue: job.queue.clone() }));
    };
    let shape = state.shape_for(queue, job);
    if let Some(never) = state.never_fits_reason(shape) {
        return answer(Verdict::Impossible(Impossible::NeverFits(never)));
    }
    let kept = state.room_kept_for(key).to_vec();
    if !kept.is_empty() {
        let name = |at: &crate::model::cluster::NodeIndex| snapshot.cluster.node(*at).name.clone();
        let room = kept.iter().map(name).collect();
        return answer(Verdict::Moves { moves: Vec::new(), room, fewest: true });
    }
    if let Err(Refused::Job(reason) | Refused::Class(reason)) = state.may_start_at_all(job, shape) {
        return refused(Some(reason));
    }
    let model = model::Model::of(&mut state, job, shape);
    let movable = model.movers.len();
    if let Some(count) =
        bound::first_impossible_count(&model, &model.nodes_with_all_lifted(&snapshot.cluster))
    {
        let verdict = Verdict::Impossible(Impossible::Counts(count));
        return Some(Solution { verdict, trials: 0, movable });
    }
    let parts = model.jobs[0].parts.each.len();
    if parts > PARTS_MAX {
        let verdict = Verdict::GaveUp(GaveUp::Parts { parts });
        return Some(Solution { verdict, trials: 0, movable });
    }
    let mut try_out = |found: &Found| trial::try_out(snapshot, now, job, queue, found);
    let mut search = Search::new(&model, &snapshot.cluster, effort, &mut try_out);
    let verdict = search.verdict();
    Some(Solution { verdict, trials: search.trials, movable })
}

#[cfg(test)]
mod tests;
