//! Which queue goes first: its rank among its siblings by fair share, as a value that sorts.
//!
//! Source: KAI Scheduler, queue order of the proportion plugin. The first difference decides: not
//! above the fair share in all resources; within quota with the next job; higher priority; no use
//! of a resource of which its allowance is zero; smaller dominant share with the job, then without
//! it; smaller allowance; older. Ours: allowances are compared resource by resource, GPUs first.
//! Reads: terms and accounts of queues. Knobs: `quota`, `at_most`, `weight`, `priority`.

use crate::fair::tree::{QueueAt, Tree};
use crate::fair::{Amount, Resource, UNLIMITED};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A queue's rank among its siblings; the smaller goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    is_over: bool,
    borrows: bool,
    priority: Reverse<i64>,
    uses_undue: bool,
    /// Dominant shares, as ordered bits.
    with_job: u64,
    without: u64,
    /// GPUs, CPUs, memory.
    allowance: [i64; 3],
    seniority: usize,
}

impl Rank {
    /// The rank of a queue that holds `held`, when its next job asks for `asks`. `total`: the
    /// capacity of the cluster.
    pub fn of(tree: &Tree, total: &Amount, at: QueueAt, (held, asks): (&Amount, &Amount)) -> Self {
        let (terms, account) = (&tree.terms[at.0], &tree.accounts[at.0]);
        let with_job = held.plus(asks);
        let allowance = tree.allowance(at);
        let is_undue = |one: &Resource| allowance.of(*one) == 0 && with_job.of(*one) > 0;
        Self {
            is_over: Resource::ALL.iter().all(|one| held.of(*one) > account.fair.of(*one)),
            borrows: !with_job.is_within(&terms.quota),
            priority: Reverse(terms.priority),
            uses_undue: Resource::ALL.iter().any(is_undue),
            with_job: dominant(&with_job, &allowance, total),
            without: dominant(held, &allowance, total),
            allowance: [allowance.gpu_milli, allowance.cpu_milli, allowance.memory_bytes],
            seniority: tree.seniority(at),
        }
    }
}

/// The dominant share: the largest ratio of held to allowance over all resources. The bits of
/// floats that are not negative sort as the floats do.
fn dominant(held: &Amount, allowance: &Amount, total: &Amount) -> u64 {
    let part = |resource: Resource| {
        let held = held.of(resource) as f64;
        match allowance.of(resource) {
            0 => held / resource.unit() as f64 * 1000.0,
            UNLIMITED if total.of(resource) == 0 => 0.0,
            UNLIMITED => held / total.of(resource) as f64,
            allowed => held / allowed as f64,
        }
    };
    Resource::ALL.into_iter().map(part).fold(0.0, f64::max).to_bits()
}

/// The queues that take part, sorted among their siblings at each level of the tree.
#[derive(Debug)]
pub(super) struct Ranks {
    /// For the top and then for each queue: its children that take part.
    below: Vec<BTreeSet<(Rank, QueueAt)>>,
    ranks: Vec<Option<Rank>>,
}

impl Ranks {
    /// No queue takes part.
    pub fn none(tree: &Tree) -> Self {
        let queues = tree.terms.len();
        Self { below: vec![BTreeSet::new(); queues + 1], ranks: vec![None; queues] }
    }

    /// The sorted children of a queue; `None`: of the top.
    pub fn below(&self, at: Option<QueueAt>) -> &BTreeSet<(Rank, QueueAt)> {
        &self.below[at.map_or(0, |at| at.0 + 1)]
    }

    /// Sets a queue's rank; with `None` it no longer takes part.
    pub fn set(&mut self, tree: &Tree, at: QueueAt, rank: Option<Rank>) {
        let above = tree.path(at).get(1).map_or(0, |above| above.0 + 1);
        if let Some(known) = self.ranks[at.0].take() {
            self.below[above].remove(&(known, at));
        }
        if let Some(rank) = rank {
            self.below[above].insert((rank, at));
        }
        self.ranks[at.0] = rank;
    }
}
