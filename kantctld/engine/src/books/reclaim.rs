//! A queue that is owed something may take it back from one that has more than it is owed.
//!
//! Source: KAI Scheduler, proportion plugin: claimant and victim are compared right below the
//! lowest queue above both; the claimant must be within its quota, the victim's side over its own.
//! Ours: a queue that is owed nothing holds lent goods only, else a quota would be worth nothing
//! beside a queue without one.
//! Reads: quotas and what running jobs hold. Never: who is preemptible, for how long the victim
//! has run, nor whether it stands where the claimant could go.
//! Knobs: `quota` of a queue; `preemption.reclaim`, which the caller reads.
//!
//! The victim is still in the books, the claimant is not. One victim is judged at a time: take a
//! chosen one out of the books before asking for the next.
//!
//! Example, two nodes of 8 GPUs. Queues `a` and `b` have a quota of 8 each; jobs 1 and 2 of `b` run
//! with 8 GPUs each. Job 3 of `a` asks for 8: with it `a` is within its quota, and `b` is over its
//! own, so job 1 or job 2 may have to yield. When one has, the other is `b`'s by right.

use super::claim::Claim;
use super::columns::{CPUS, Column, GPUS, MEMORY};
use super::quota::QuotaBook;
use super::tree::{QueueIndex, Tree};

/// May the claimant make the victim yield?
pub(super) fn may_reclaim(book: &QuotaBook, tree: &Tree, claimant: &Claim, victim: &Claim) -> bool {
    let (Some(own), Some(other)) = (claimant.who.queue, victim.who.queue) else { return false };
    let (own, other) = tree.apart(own, other);
    if book.would_be_over(own, claimant) {
        return false;
    }
    let names = |column: Column| own.iter().any(|at| book.rules[at.0].owed[column.0].is_some());
    let is_gpu = gpus_owed(book, own, claimant) && gpus_lent(book, other, claimant, victim);
    let of = |column: Column, asked: u64, held: u64| {
        asked > 0 && held > 0 && names(column) && is_lent(book, other, column)
    };
    is_gpu
        || of(CPUS, u64::from(claimant.cpus.0), u64::from(victim.cpus.0))
        || of(MEMORY, claimant.memory.0, victim.memory.0)
}

/// Does a quota on the claimant's side speak of the GPUs it asks for?
fn gpus_owed(book: &QuotaBook, own: &[QueueIndex], claimant: &Claim) -> bool {
    let kinds = claimant.kinds().iter().map(|(kind, _)| Column::from(*kind));
    let mut asked = kinds.chain((claimant.gpu_milli() > 0).then_some(GPUS));
    asked.any(|column| own.iter().any(|at| book.rules[at.0].owed[column.0].is_some()))
}

/// Are GPUs of the victim that the claimant could use lent to it? The highest queue on its side
/// whose quota names GPUs decides: by the kind if it names that, else by all kinds together. GPUs
/// of a kind that it leaves out are not owed to it. Kinds that no quota names are not told apart.
fn gpus_lent(book: &QuotaBook, side: &[QueueIndex], claimant: &Claim, victim: &Claim) -> bool {
    let wanted = |column: Column| {
        claimant.kinds().is_empty()
            || claimant.kinds().iter().any(|(kind, _)| Column::from(*kind) == column)
    };
    let judge = side.iter().rev().find(|at| book.names_gpus(**at));
    let lent = |column: Column| {
        let Some(at) = judge else { return true };
        let over = |column: Column| {
            let owed = book.rules[at.0].owed[column.0];
            owed.map(|owed| book.used_of(*at, column) > owed)
        };
        over(column).or_else(|| over(GPUS)).unwrap_or(true)
    };
    let named: u64 = victim.kinds().iter().map(|(_, amount)| amount).sum();
    let kinds = victim.kinds().iter().map(|(kind, _)| Column::from(*kind));
    let others = (victim.gpu_milli() > named).then_some(GPUS);
    claimant.gpu_milli() > 0 && kinds.chain(others).any(|column| wanted(column) && lent(column))
}

/// Is this resource lent to the victim's side? The highest queue there whose quota names it says.
fn is_lent(book: &QuotaBook, side: &[QueueIndex], column: Column) -> bool {
    let owed = |at: &QueueIndex| Some((*at, book.rules[at.0].owed[column.0]?));
    let judge = side.iter().rev().find_map(owed);
    judge.is_none_or(|(at, owed)| book.used_of(at, column) > owed)
}

#[cfg(test)]
mod tests;
