//! The tree of queues under fair sharing, with what each holds, asks for and is entitled to.
//!
//! Source: KAI Scheduler, "Scheduling Queues" and "Fairness": top level first; a queue's fair share
//! is divided among its children.
//! Reads: the terms of queues, what jobs hold and ask for. Never: where.
//! Knobs: `parent`, `quota`, `at_most`, `weight`, `priority` of queues; `usage_strength`.
//!
//! Example, two nodes of 8 GPUs. Queues `lab` (weight 3) and `ops` (weight 1) are top-level,
//! `lab-a` and `lab-b` below `lab`, quotas are zero. Jobs 1, 2 and 3 of `lab-a`, `lab-b` and `ops`
//! ask for 16 GPUs each: `lab` gets 12, `ops` 4, and `lab-a` and `lab-b` 6 each.

use super::amount::{Amount, Resource};
use super::divide::{Share, divide};
use super::runtime::Protection;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The index of a queue in its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueAt(pub usize);

/// The configuration of a queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    pub name: String,
    pub parent: Option<QueueAt>,
    /// Queues of a higher priority get surplus first.
    pub priority: i64,
    /// Of two equal queues the older (smaller) goes first, then by name.
    pub created: u64,
    /// The guaranteed amount.
    pub quota: Amount,
    /// The most that the queue may hold.
    pub limit: Amount,
    /// The most that its jobs may hold which are not preemptible: its quota, where that names the
    /// resource.
    pub firm: Amount,
    /// Its part of the surplus, for CPU, memory and GPU.
    pub weight: [f64; 3],
    pub protection: Protection,
}

/// What a queue with its descendants holds, asks for and is entitled to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Account {
    pub allocated: Amount,
    /// The part of it that jobs hold which are not preemptible.
    pub firm: Amount,
    /// Held and asked for.
    pub request: Amount,
    /// The fair share.
    pub fair: Amount,
    /// Past use relative to past capacity: 0 to 1, for CPU, memory and GPU.
    pub usage: [f64; 3],
}

#[derive(Debug, Clone, Default)]
pub struct Tree {
    pub terms: Arc<Vec<Terms>>,
    pub accounts: Vec<Account>,
    paths: Arc<Vec<Vec<QueueAt>>>,
    below: Arc<Vec<Vec<QueueAt>>>,
    tops: Arc<Vec<QueueAt>>,
    /// All queues, each after those below it.
    upwards: Arc<Vec<QueueAt>>,
    /// The first queue of each name.
    places: Arc<BTreeMap<String, QueueAt>>,
    /// Rank among its siblings by age and name.
    seniority: Arc<Vec<usize>>,
}

impl Tree {
    /// The tree of these queues. A queue whose parent is missing or below it becomes a top-level
    /// queue.
    #[must_use]
    pub fn new(terms: Vec<Terms>) -> Self {
        let paths: Vec<Vec<QueueAt>> = (0..terms.len()).map(|at| path(&terms, at)).collect();
        let mut below = vec![Vec::new(); terms.len()];
        let mut tops = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            match path.get(1) {
                Some(above) => below[above.0].push(QueueAt(at)),
                None => tops.push(QueueAt(at)),
            }
        }
        let mut upwards: Vec<QueueAt> = (0..terms.len()).map(QueueAt).collect();
        upwards.sort_by_key(|at| Reverse(paths[at.0].len()));
        let mut seniority = vec![0; terms.len()];
        for family in below.iter().chain([&tops]) {
            let mut family = family.clone();
            family.sort_by_key(|at| (terms[at.0].created, &terms[at.0].name));
            family.iter().enumerate().for_each(|(place, at)| seniority[at.0] = place);
        }
        let named = terms.iter().enumerate().rev();
        let places = named.map(|(at, one)| (one.name.clone(), QueueAt(at))).collect();
        let accounts = vec![Account::default(); terms.len()];
        Self {
            terms: Arc::new(terms),
            accounts,
            paths: Arc::new(paths),
            below: Arc::new(below),
            tops: Arc::new(tops),
            upwards: Arc::new(upwards),
            places: Arc::new(places),
            seniority: Arc::new(seniority),
        }
    }

    #[must_use]
    pub fn find(&self, name: &str) -> Option<QueueAt> {
        self.places.get(name).copied()
    }

    /// The queue, its parent, and so on to the top.
    #[must_use]
    pub fn path(&self, at: QueueAt) -> &[QueueAt] {
        &self.paths[at.0]
    }

    /// The children of a queue; `None`: the top-level queues.
    #[must_use]
    pub fn below(&self, at: Option<QueueAt>) -> &[QueueAt] {
        at.map_or(&self.tops, |at| &self.below[at.0])
    }

    /// All queues, each after those below it.
    #[must_use]
    pub fn children_first(&self) -> &[QueueAt] {
        &self.upwards
    }

    /// Rank among its siblings by age and name.
    #[must_use]
    pub fn seniority(&self, at: QueueAt) -> usize {
        self.seniority[at.0]
    }

    /// The two siblings on the paths of both queues: children of their lowest common ancestor.
    #[must_use]
    pub fn siblings_on_paths(&self, a: QueueAt, b: QueueAt) -> Option<(QueueAt, QueueAt)> {
        let (a, b) = (self.path(a), self.path(b));
        let both = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        Some((*a.get(a.len().checked_sub(both + 1)?)?, *b.get(b.len().checked_sub(both + 1)?)?))
    }

    /// Adds an amount to what the queue and its ancestors hold, or subtracts it.
    pub fn charge(&mut self, at: QueueAt, amount: &Amount, is_firm: bool, is_more: bool) {
        for at in &self.paths[at.0] {
            let account = &mut self.accounts[at.0];
            let change = |sum: &Amount| {
                if is_more { sum.plus(amount) } else { sum.minus(amount) }
            };
            account.allocated = change(&account.allocated);
            if is_firm {
                account.firm = change(&account.firm);
            }
        }
    }

    /// Adds an amount to what the queue and its ancestors ask for.
    pub fn add_request(&mut self, at: QueueAt, amount: &Amount) {
        for at in &self.paths[at.0] {
            let account = &mut self.accounts[at.0];
            account.request = account.request.plus(amount);
        }
    }

    /// Computes all fair shares of this total. `k`: how strongly past use counts.
    pub fn share_out(&mut self, total: &Amount, k: f64) {
        let (below, tops) = (self.below.clone(), self.tops.clone());
        let (mut open, mut shares) = (Vec::new(), Vec::new());
        for resource in Resource::ALL {
            open.push((&*tops, total.get(resource)));
            while let Some((family, total)) = open.pop() {
                shares.clear();
                shares.extend(family.iter().map(|at| self.division_input(*at, resource)));
                let (given, _) = divide(total, k, resource.unit(), &shares);
                for (at, given) in family.iter().zip(given) {
                    let account = &mut self.accounts[at.0];
                    // Where no job asks now and none did before, the shares of all descendants stay
                    // zero.
                    let is_idle = [&account.request, &account.fair]
                        .into_iter()
                        .all(|amount| amount.get(resource) == 0);
                    account.fair.set(resource, given);
                    if !is_idle && !below[at.0].is_empty() {
                        open.push((&below[at.0], given));
                    }
                }
            }
        }
    }

    fn division_input(&self, at: QueueAt, resource: Resource) -> Share {
        let (terms, account) = (&self.terms[at.0], &self.accounts[at.0]);
        Share {
            quota: terms.quota.get(resource),
            limit: terms.limit.get(resource),
            weight: terms.weight[resource as usize],
            request: account.request.get(resource),
            usage: account.usage[resource as usize],
            priority: terms.priority,
            seniority: self.seniority[at.0],
        }
    }

    /// What the queue may hold without holding what others are entitled to: the larger of quota and
    /// fair share, within its limit.
    #[must_use]
    pub fn allowance(&self, at: QueueAt) -> Amount {
        let terms = &self.terms[at.0];
        terms.limit.min(&terms.quota.max(&self.accounts[at.0].fair))
    }
}

/// The path from a queue to the top. In a cycle every queue is a top-level queue.
fn path(terms: &[Terms], at: usize) -> Vec<QueueAt> {
    let above = |at: QueueAt| terms[at.0].parent.filter(|above| above.0 < terms.len());
    // A walk upwards that is longer than the number of queues has entered a cycle and stays in it.
    let is_in_cycle = |from: QueueAt| {
        let up = std::iter::successors(above(from), |at| above(*at));
        up.take(terms.len()).any(|at| at == from)
    };
    let mut path = vec![QueueAt(at)];
    let mut at = QueueAt(at);
    while let Some(next) = above(at).filter(|_| !is_in_cycle(at)) {
        path.push(next);
        at = next;
    }
    path
}

#[cfg(test)]
mod tests;
