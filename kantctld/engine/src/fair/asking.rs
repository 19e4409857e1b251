//! The rules on which running jobs a job may preempt, by queue, priority and run time. Whether
//! preempting them makes enough room is decided elsewhere.
//!
//! Source: KAI Scheduler, reclaim, preempt and min-runtime filters.

use super::board::Board;
use super::gang::{Gang, Standing};
use super::runtime::{always_min, is_safe, preempt_min, reclaim_min};
use super::taking::{Claimant, may_lose};
use super::tree::QueueAt;
use super::victims::{Asked, Who};
use super::world::JobAt;
use super::yielding::Why;
use common::time::Span;

/// Whether jobs of the victim's queue could be reclaimed, as shares stand now.
pub(super) fn may_lose_to(
    board: &Board<'_>,
    claimant: &Claimant,
    queue: QueueAt,
    why: Why,
) -> bool {
    why != Why::Reclaim || queue != claimant.queue && may_lose(&board.tree, claimant, queue)
}

/// Whether a running job may be preempted for this job.
pub(super) fn asked(
    board: &Board<'_>,
    own: JobAt,
    why: Why,
    who: Who,
    may_lose: impl FnOnce() -> bool,
) -> Asked {
    let other = match who {
        Who::Job(other) => other,
        Who::Unseen(queue, priority) => {
            return asked_unseen(board, own, why, (queue, priority), may_lose);
        }
    };
    let (by, victim) = (&board.world.jobs[own.0], &board.world.jobs[other.0]);
    let has_moved = || board.world.settings.moves_once && board.has_moved(other);
    if other == own || has_moved() {
        return Asked::No;
    }
    match why {
        Why::Consolidate if victim.may_move => return Asked::Yes,
        Why::Consolidate => return Asked::No,
        Why::Stale => return Asked::NobodyElse,
        Why::Preempt if victim.queue != by.queue || victim.priority >= by.priority => {
            // The jobs that come after it have the same priority or a higher one.
            return Asked::NobodyElse;
        }
        Why::Reclaim if !may_lose() => return Asked::NobodyElse,
        Why::Preempt | Why::Reclaim => {}
    }
    let is_rigid = || Gang::of(board, other).standing() != Standing::Above;
    if is_protected(board, own, why, other) && is_rigid() { Asked::No } else { Asked::Yes }
}

/// Whether any unnamed job of a queue, with this priority or a higher one, may be preempted.
fn asked_unseen(
    board: &Board<'_>,
    own: JobAt,
    why: Why,
    (queue, priority): (QueueAt, i64),
    may_lose: impl FnOnce() -> bool,
) -> Asked {
    let by = &board.world.jobs[own.0];
    let may = match why {
        Why::Consolidate => board.world.unseen.may_move,
        Why::Stale => false,
        Why::Preempt => queue == by.queue && priority < by.priority,
        Why::Reclaim => may_lose(),
    };
    if may { Asked::Yes } else { Asked::NobodyElse }
}

/// Whether a job is still within its minimum run time.
pub(super) fn is_protected(board: &Board<'_>, own: JobAt, why: Why, victim: JobAt) -> bool {
    let (tree, settings) = (&board.tree, &board.world.settings);
    let path = |job: JobAt| tree.path(board.world.jobs[job.0].queue);
    let says = |at: QueueAt| tree.terms[at.0].protection;
    let always = || always_min(path(victim), says);
    let least = match why {
        Why::Preempt => preempt_min(path(victim), says, settings.preempt_min).max(always()),
        Why::Reclaim => {
            let paths = (path(own), path(victim));
            reclaim_min(paths, settings.method, says, settings.reclaim_min).max(always())
        }
        Why::Consolidate | Why::Stale => Span(0),
    };
    is_safe(board.world.jobs[victim.0].runs_for, least)
}
