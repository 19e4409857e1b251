//! The running jobs that a view names: those that are leaving, and of each queue those that would
//! be preempted first. Of all others it has only sums. The result does not depend on it: a plan
//! that needs to know more of them reports that and is made again.
//!
//! Source: ours. A few candidates are nearly always enough; to read all running jobs takes a
//! hundred times as long.
//!
//! Example: ten jobs of queue a run, job 11 of b waits and is entitled to room. Of a the last two
//! are named; if neither of them is enough for job 11, the plan is made again with all ten.

use super::prospect::spans;
use super::running_index::{Place, Row, RunningIndex};
use super::runtime::always_min;
use super::tree::{QueueAt, Tree};
use super::unseen::{Rest, Unseen};
use super::view::priority;
use crate::job::RunningJob;
use crate::planner::RoundState;
use common::id::{JobKey, QueueName};
use common::time::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const FIRST: usize = 64;
/// The factor by which a sight that was too narrow grows.
const MORE: usize = 16;

/// How many preemption candidates of each queue are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// All of them, and all other running jobs.
    All,
    First(usize),
}

impl Sight {
    /// The sight at the start of a round.
    pub const fn first() -> Self {
        Self::First(FIRST)
    }

    /// For results that do not depend on victims: what queues hold, their fair shares, and what is
    /// free.
    pub const fn sums() -> Self {
        Self::First(0)
    }

    /// The next wider sight, for this number of running jobs and of tasks that ask.
    pub fn wider(self, running: usize, asking: usize) -> Self {
        match self {
            // To name a quarter of them costs little less than to name all.
            Self::First(few) if few.saturating_mul(4 * MORE) < running => {
                Self::First((few.max(1) * MORE).max(2 * asking))
            }
            _ => Self::All,
        }
    }
}

/// The named running jobs, by key, and what all running jobs of each queue hold. A view subtracts
/// the holdings of the named jobs as it adds them.
pub(super) fn seen<'a>(
    desk: &RoundState<'a>,
    tree: &Tree,
    sight: Sight,
) -> (Vec<&'a Arc<RunningJob>>, Unseen) {
    let snapshot = desk.snapshot;
    let most = match sight {
        Sight::First(most) if !tree.terms.is_empty() => most,
        _ => return (snapshot.all_running().collect(), Unseen::default()),
    };
    let mut keys: BTreeSet<JobKey> = snapshot.ending.keys().copied().collect();
    keys.extend(snapshot.giving_up.keys());
    let running_index: &RunningIndex = &snapshot.running_index;
    let mut unseen = Unseen {
        loads: running_index.loads().clone(),
        queues: vec![Rest::default(); tree.terms.len()],
        may_move: !snapshot.movable.is_empty(),
    };
    let asking = asking(desk);
    let mut is_any_gone = false;
    for (name, row) in running_index.rows() {
        let Some(at) = tree.find(name.as_str()) else {
            is_any_gone = true;
            continue;
        };
        let safe = Safe::of(desk, (tree, at), asking.get(name).copied());
        unseen.queues[at.0] = named(row, most, &safe, &mut keys);
    }
    if is_any_gone {
        // Jobs whose queue no longer exists are in no queue's sum.
        let is_gone = |job: &&Arc<RunningJob>| tree.find(job.queue.as_str()).is_none();
        keys.extend(snapshot.all_running().filter(is_gone).map(|job| job.key));
    }
    (keys.iter().filter_map(|key| snapshot.running(*key)).collect(), unseen)
}

/// Names the first candidates of a queue, and returns what all of its jobs hold.
fn named(row: &Row, most: usize, safe: &Safe, keys: &mut BTreeSet<JobKey>) -> Rest {
    let mut asked = row.yielding().filter(|(place, started)| !safe.is(place, *started));
    let before = keys.len();
    keys.extend(asked.by_ref().take(most).map(|(place, _)| place.key()));
    let named = keys.len() - before;
    Rest {
        held: row.held,
        firm: row.firm,
        yields: row.yielding_count() > named,
        spots: row.spots().clone(),
        next: asked.next().map(|(place, _)| place.unseen()),
    }
}

/// The highest priority that waits in each queue whose jobs preempt by priority.
fn asking<'a>(desk: &RoundState<'a>) -> BTreeMap<&'a QueueName, i64> {
    let snapshot = desk.snapshot;
    let mut highest = BTreeMap::new();
    for job in snapshot.all_waiting() {
        let Some(queue) = desk.queues.get(&job.queue) else { continue };
        if queue.preemption.by_priority {
            let own = priority(&snapshot.policy, job.qos.as_ref(), job.nice);
            let known = highest.entry(&queue.name).or_insert(own);
            *known = own.max(*known);
        }
    }
    highest
}

/// Decides which jobs of a queue no waiting job may preempt.
struct Safe {
    now: Time,
    /// Protection from all jobs.
    always: Span,
    /// Protection from other queues; `None`: no other queue could reclaim.
    from_others: Option<Span>,
    /// The queue's own jobs preempt those of a priority below this.
    below: Option<i64>,
    /// Whether jobs may be moved in this round. Then only protection from all jobs counts.
    may_move: bool,
}

impl Safe {
    fn of(desk: &RoundState<'_>, (tree, queue): (&Tree, QueueAt), below: Option<i64>) -> Self {
        let says = |at: QueueAt| tree.terms[at.0].protection;
        Self {
            now: desk.now,
            always: always_min(tree.path(queue), says),
            from_others: spans(tree, queue).into_iter().min(),
            below,
            may_move: desk.snapshot.moves_left(desk.now) > 0,
        }
    }

    /// A job that runs on with less may always be asked for what it has beyond that.
    fn is(&self, place: &Place, started: Time) -> bool {
        let ran = self.now.since(started);
        let is_asked_inside = || self.below.is_some_and(|below| place.priority() < below);
        let is_safe_from_others = || self.from_others.is_none_or(|least| ran < least);
        let is_safe =
            ran < self.always || !self.may_move && !is_asked_inside() && is_safe_from_others();
        !place.has_more() && is_safe
    }
}
