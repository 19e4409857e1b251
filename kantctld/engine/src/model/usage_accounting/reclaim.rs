//! The quota rule of reclaim: a queue may take back what it is guaranteed from one that has more
//! than its own guarantee.
//!
//! Source: KAI Scheduler, proportion plugin: claimant and victim are compared at the children of
//! their lowest common ancestor; the claimant must be within its quota, the victim's side above its
//! own. Ours: everything that a queue without a quota holds is on loan, otherwise a quota would be
//! worth nothing next to a queue without one.
//! Reads: quotas and what running jobs hold. Never: which jobs are preemptible, for how long the
//! victim has run, nor whether it is on a node that the claimant could use.
//! Knobs: `quota` of a queue; `preemption.reclaim`, which the caller reads.
//!
//! The victim is still counted, the claimant is not. One victim is judged at a time: take a
//! chosen one out of the accounting before asking for the next.
//!
//! Example, two nodes of 8 GPUs. Queues `a` and `b` have a quota of 8 each; jobs 1 and 2 of `b` run
//! with 8 GPUs each. Job 3 of `a` asks for 8: with it `a` is within its quota, and `b` is above its
//! own, so job 1 or job 2 may be stopped. After one of them, `b` is within its quota.

use super::claim::Claim;
use super::columns::{CPUS, Column, GPUS, MEMORY};
use super::quota::QuotaUsage;
use super::tree::{QueueIndex, Tree};

/// Whether the claimant may preempt the victim.
pub(super) fn may_reclaim(
    usage: &QuotaUsage,
    tree: &Tree,
    claimant: &Claim,
    victim: &Claim,
) -> bool {
    let (Some(own), Some(other)) = (claimant.who.queue, victim.who.queue) else { return false };
    let (own, other) = tree.paths_below_common_ancestor(own, other);
    if usage.would_be_over(own, claimant) {
        return false;
    }
    let names = |column: Column| own.iter().any(|at| usage.rules[at.0].owed[column.0].is_some());
    let is_gpu =
        quota_names_gpus(usage, own, claimant) && gpus_lent(usage, other, claimant, victim);
    let of = |column: Column, asked: u64, held: u64| {
        asked > 0 && held > 0 && names(column) && is_lent(usage, other, column)
    };
    is_gpu
        || of(CPUS, u64::from(claimant.cpus.0), u64::from(victim.cpus.0))
        || of(MEMORY, claimant.memory.0, victim.memory.0)
}

/// Whether a quota on the claimant's side names the GPUs that it asks for.
fn quota_names_gpus(usage: &QuotaUsage, own: &[QueueIndex], claimant: &Claim) -> bool {
    let kinds = claimant.kinds().iter().map(|(kind, _)| Column::from(*kind));
    let mut asked = kinds.chain((claimant.gpu_milli() > 0).then_some(GPUS));
    asked.any(|column| own.iter().any(|at| usage.rules[at.0].owed[column.0].is_some()))
}

/// Whether GPUs of the victim that the claimant could use are on loan. The highest queue on its
/// side whose quota names GPUs decides: by the kind if it names that, otherwise by all kinds
/// together. It is not guaranteed GPUs of a kind that it leaves out. Kinds that no quota names are
/// not distinguished.
fn gpus_lent(usage: &QuotaUsage, side: &[QueueIndex], claimant: &Claim, victim: &Claim) -> bool {
    let wanted = |column: Column| {
        claimant.kinds().is_empty()
            || claimant.kinds().iter().any(|(kind, _)| Column::from(*kind) == column)
    };
    let judge = side.iter().rev().find(|at| usage.names_gpus(**at));
    let lent = |column: Column| {
        let Some(at) = judge else { return true };
        let over = |column: Column| {
            let owed = usage.rules[at.0].owed[column.0];
            owed.map(|owed| usage.used_of(*at, column) > owed)
        };
        over(column).or_else(|| over(GPUS)).unwrap_or(true)
    };
    let named: u64 = victim.kinds().iter().map(|(_, amount)| amount).sum();
    let kinds = victim.kinds().iter().map(|(kind, _)| Column::from(*kind));
    let others = (victim.gpu_milli() > named).then_some(GPUS);
    claimant.gpu_milli() > 0 && kinds.chain(others).any(|column| wanted(column) && lent(column))
}

/// Whether this resource is on loan to the victim's side. The highest queue there whose quota names
/// it decides.
fn is_lent(usage: &QuotaUsage, side: &[QueueIndex], column: Column) -> bool {
    let owed = |at: &QueueIndex| Some((*at, usage.rules[at.0].owed[column.0]?));
    let judge = side.iter().rev().find_map(owed);
    judge.is_none_or(|(at, owed)| usage.used_of(at, column) > owed)
}

#[cfg(test)]
mod tests;
