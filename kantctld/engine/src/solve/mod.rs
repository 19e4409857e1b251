//! Would a waiting job have room if others moved? An exact search where the greedy one of the
//! rounds ([`crate::fair`]) found nothing: which running jobs would have to move, and where to, or
//! that no moves make room, or that the search was given up. A question only: nobody moves by it.
//! Slow: never part of a round.
//!
//! Three steps. [`bound`] counts: if the nodes have too few free pieces of a size even with
//! everybody lifted who may move, nothing helps. [`search`] looks for the fewest moves (none, one,
//! two ...) in counts of GPUs, CPUs and memory by node, which ask for less than real places do: so
//! if counts have no room, nothing has. [`trial`] tries what counts allow as a round would, with
//! cores, links, bookings and limits, and holds it against the judge; only what both accept is an
//! answer.
//!
//! Source: ours, branch and bound. The question is that of constraint-based packing of pods (arXiv
//! 2511.08373), which hands it to a general solver.
//! Reads: what a round reads, and [`Effort`]. Not the budget of moves: see [`opened`].
//!
//! Example, three nodes of 8 GPUs with 3, 5 and 8 in use by jobs of 3, 5 and 2 + 6. A job of 8
//! waits: the job of 3 has room beside that of 5. One move; so would the other way round be, but
//! that one has used more.

mod bound;
mod changes;
mod choices;
mod item;
mod model;
mod opened;
mod search;
mod trial;

use crate::desk::{Desk, Refused};
use crate::snapshot::Snapshot;
use common::id::{JobKey, NodeName};
use common::reason::WaitReason;
use common::time::Time;
pub use opened::opened;
use search::{Found, Search};

/// The most parts that a search takes up at once: it goes one step deeper for each.
const PARTS_MAX: usize = 256;

/// How long a search goes on.
pub struct Effort<'a> {
    /// So many places are looked at, at most.
    pub trials: u64,
    /// Asked now and then: is it to stop?
    pub is_stopped: &'a dyn Fn() -> bool,
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solution {
    pub verdict: Verdict,
    /// How many places were looked at.
    pub trials: u64,
    /// How many running jobs may be moved.
    pub movable: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// If these move, the job has room; everybody has a place.
    Moves {
        /// Who, in the order in which places were found. Empty: there is room without.
        moves: Vec<Move>,
        /// The nodes the job has then.
        room: Vec<NodeName>,
        /// Fewer would not do, which is proved.
        fewest: bool,
    },
    /// No moves make room: proved.
    Impossible(Impossible),
    /// Neither was found out.
    GaveUp(GaveUp),
}

/// One job that moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    pub key: JobKey,
    pub from: Vec<NodeName>,
    /// Where it would go on.
    pub to: Vec<NodeName>,
    /// What it has used since it started, or said that its work is saved, which is lost unless it
    /// saved it all the same: minutes of one GPU.
    pub lost_gpu_minutes: u64,
}

/// Why no moves make room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Impossible {
    /// It may not start, whatever is free; `None`: it is held, or its time has not come.
    MayNotStart(Option<WaitReason>),
    /// It would not fit if nothing ran.
    NeverFits(WaitReason),
    /// With all lifted who may move, there are too few pieces of a size for them and the job.
    Counts(Count),
    /// All ways to move were gone through.
    Exhausted,
}

/// A count that rules it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    pub of: Counted,
    /// In pieces of this size: thousandths of GPUs, CPUs, bytes.
    pub size: u64,
    /// So many have room, with all lifted who may move.
    pub room: u64,
    /// So many need it.
    pub needed: u64,
    /// Of the nodes that suit the job alone, or of all?
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
    /// The places to look at were used up.
    Effort,
    /// It was told to stop.
    Stopped,
    /// Counts allow so many arrangements; none of them held with cores, links, bookings and limits.
    InDetail {
        /// How many were tried.
        arrangements: u64,
    },
    /// It has more parts than a search takes up.
    Parts { parts: usize },
    /// It is a component of a larger job, which starts as a whole.
    Component,
}

/// What is known without a search of a job that yields to nobody, and is more than its queue's
/// quota allows. To be asked of the snapshot as it is: in one that is [`opened`] everybody may
/// yield.
#[must_use]
pub fn over_quota(snapshot: &Snapshot, now: Time, key: JobKey) -> Option<Solution> {
    let reason = crate::fair::over_quota(snapshot, now, key)?;
    let verdict = Verdict::Impossible(Impossible::MayNotStart(Some(reason)));
    Some(Solution { verdict, trials: 0, movable: 0 })
}

/// Which running jobs would have to move for a waiting job to have room. The snapshot is
/// [`opened`]: in one that is not, nobody may move beyond the budget of the hour. `None`: no such
/// job waits.
#[must_use]
pub fn solve(snapshot: &Snapshot, now: Time, key: JobKey, effort: &Effort<'_>) -> Option<Solution> {
    let job = snapshot.waiting(key)?;
    let told = |verdict| Some(Solution { verdict, trials: 0, movable: 0 });
    if job.together.is_some() {
        return told(Verdict::GaveUp(GaveUp::Component));
    }
    let refused = |reason| told(Verdict::Impossible(Impossible::MayNotStart(reason)));
    if snapshot.class_of(key).is_none() {
        return refused(None);
    }
    let mut desk = Desk::new(snapshot, now);
    desk.stand_by_promises();
    let Some(queue) = desk.queues.get(&job.queue) else {
        return refused(Some(WaitReason::QueueGone { queue: job.queue.clone() }));
    };
    let shape = desk.shape_for(queue, job);
    if let Some(never) = desk.never_fits(shape) {
        return told(Verdict::Impossible(Impossible::NeverFits(never)));
    }
    let kept = desk.room_kept_for(key).to_vec();
    if !kept.is_empty() {
        let name = |at: &crate::floor::NodeIndex| snapshot.floor.node(*at).name.clone();
        let room = kept.iter().map(name).collect();
        return told(Verdict::Moves { moves: Vec::new(), room, fewest: true });
    }
    if let Err(Refused::Job(reason) | Refused::Class(reason)) = desk.may_start_at_all(job, shape) {
        return refused(Some(reason));
    }
    let model = model::Model::of(&mut desk, job, shape);
    let movable = model.movers.len();
    if let Some(count) = bound::ruled_out(&model, &model.all_lifted(&snapshot.floor)) {
        let verdict = Verdict::Impossible(Impossible::Counts(count));
        return Some(Solution { verdict, trials: 0, movable });
    }
    let parts = model.jobs[0].parts.each.len();
    if parts > PARTS_MAX {
        let verdict = Verdict::GaveUp(GaveUp::Parts { parts });
        return Some(Solution { verdict, trials: 0, movable });
    }
    let mut try_out = |found: &Found| trial::try_out(snapshot, now, (job, queue), found);
    let mut search = Search::new((&model, &snapshot.floor), effort, &mut try_out);
    let verdict = search.verdict();
    Some(Solution { verdict, trials: search.trials, movable })
}

#[cfg(test)]
mod tests;
