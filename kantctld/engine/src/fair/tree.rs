//! Queues that share fairly: who is above whom, what each holds, asks for and is due. Never a job.
//!
//! Source: KAI Scheduler, "Scheduling Queues" and "Fairness": top level first; what a queue is due
//! is what its children divide.
//! Reads: the terms of queues, what jobs hold and ask for. Never: where.
//! Knobs: `parent`, `quota`, `at_most`, `weight`, `priority` of queues; `usage_strength`.
//!
//! Example, two nodes of 8 GPUs. Queue `lab` (weight 3) and `ops` (weight 1) are tops, `lab-a` and
//! `lab-b` below `lab`, quotas are zero. Jobs 1, 2 and 3 of `lab-a`, `lab-b` and `ops` ask for
//! 16 GPUs each: `lab` is due 12, `ops` 4, and `lab-a` and `lab-b` 6 each.

use super::amount::{Amount, Resource};
use super::divide::{Share, divide};
use super::runtime::Protection;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A queue's place among those of its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueAt(pub usize);

/// What an operator says about a queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    pub name: String,
    /// The queue above it.
    pub parent: Option<QueueAt>,
    /// Of the surplus, a higher priority takes first.
    pub priority: i64,
    /// Of two equal queues the older (smaller) goes first, then the name.
    pub created: u64,
    /// Owed, whoever else wants it.
    pub quota: Amount,
    /// Never more than this.
    pub limit: Amount,
    /// Jobs that yield to nobody never hold more than this: its quota, where that says anything.
    pub firm: Amount,
    /// Its part of the surplus, for CPU, memory and GPU.
    pub weight: [f64; 3],
    /// For how long its jobs are left alone.
    pub protection: Protection,
}

/// What a queue and those below it hold, ask for and are due.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Account {
    pub allocated: Amount,
    /// That part of it that is held by jobs that yield to nobody.
    pub firm: Amount,
    /// Held and asked for.
    pub request: Amount,
    /// Due: the fair share.
    pub fair: Amount,
    /// Used in the past, against what there was: 0 to 1, for CPU, memory and GPU.
    pub usage: [f64; 3],
}

/// A tree of queues.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// What is said about each.
    pub terms: Arc<Vec<Terms>>,
    pub accounts: Vec<Account>,
    paths: Arc<Vec<Vec<QueueAt>>>,
    below: Arc<Vec<Vec<QueueAt>>>,
    tops: Arc<Vec<QueueAt>>,
    /// The first queue of each name.
    places: Arc<BTreeMap<String, QueueAt>>,
    /// Place among its siblings by age and name.
    seniority: Arc<Vec<usize>>,
    /// How often anything that is held changed, and of each queue when it last did.
    changes: u64,
    changed: Vec<u64>,
}

impl Tree {
    /// Of these queues. A queue above that is not there, or is below it, makes it a top.
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
            changes: 0,
            changed: vec![0; terms.len()],
            terms: Arc::new(terms),
            accounts,
            paths: Arc::new(paths),
            below: Arc::new(below),
            tops: Arc::new(tops),
            places: Arc::new(places),
            seniority: Arc::new(seniority),
        }
    }

    /// The queue of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<QueueAt> {
        self.places.get(name).copied()
    }

    /// The queue itself, the one above it, and so on to the top.
    #[must_use]
    pub fn path(&self, at: QueueAt) -> &[QueueAt] {
        &self.paths[at.0]
    }

    /// The queues right below; `None`: those at the top.
    #[must_use]
    pub fn below(&self, at: Option<QueueAt>) -> &[QueueAt] {
        at.map_or(&self.tops, |at| &self.below[at.0])
    }

    /// Its place among its siblings by age and name.
    #[must_use]
    pub fn seniority(&self, at: QueueAt) -> usize {
        self.seniority[at.0]
    }

    /// Of two queues the ones that stand side by side: right below what both have in common.
    #[must_use]
    pub fn side_by_side(&self, a: QueueAt, b: QueueAt) -> Option<(QueueAt, QueueAt)> {
        let (a, b) = (self.path(a), self.path(b));
        let both = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        Some((*a.get(a.len().checked_sub(both + 1)?)?, *b.get(b.len().checked_sub(both + 1)?)?))
    }

    /// Of a queue when it, or one below it, last came to hold more or less; `None`: of all.
    pub(super) fn changed(&self, at: Option<QueueAt>) -> u64 {
        at.map_or(self.changes, |at| self.changed[at.0])
    }

    /// It, and all above it, hold this much more (or less).
    pub fn charge(&mut self, at: QueueAt, amount: &Amount, is_firm: bool, is_more: bool) {
        self.changes += 1;
        for at in &self.paths[at.0] {
            self.changed[at.0] = self.changes;
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

    /// Puts these in the place of what queues have, and what they had in theirs. Twice, it changes
    /// nothing.
    pub(super) fn exchange(&mut self, accounts: &mut [(QueueAt, Account)]) {
        for (at, account) in accounts {
            std::mem::swap(&mut self.accounts[at.0], account);
        }
    }

    /// It, and all above it, ask for this much more.
    pub fn ask(&mut self, at: QueueAt, amount: &Amount) {
        for at in &self.paths[at.0] {
            let account = &mut self.accounts[at.0];
            account.request = account.request.plus(amount);
        }
    }

    /// Works out what everyone is due of so much. `k`: how strongly past use counts.
    pub fn share_out(&mut self, total: &Amount, k: f64) {
        for resource in Resource::ALL {
            let mut open = vec![(None, total.of(resource))];
            while let Some((above, total)) = open.pop() {
                let family = self.below(above).to_vec();
                let shares: Vec<Share> =
                    family.iter().map(|at| self.share(*at, resource)).collect();
                let (given, _) = divide(total, k, resource.unit(), &shares);
                for (at, given) in family.into_iter().zip(given) {
                    let account = &mut self.accounts[at.0];
                    // Where no job asks, no queue below is due anything, nor was before.
                    let is_idle = [&account.request, &account.fair]
                        .into_iter()
                        .all(|amount| amount.of(resource) == 0);
                    account.fair.set(resource, given);
                    if !is_idle && !self.below[at.0].is_empty() {
                        open.push((Some(at), given));
                    }
                }
            }
        }
    }

    fn share(&self, at: QueueAt, resource: Resource) -> Share {
        let (terms, account) = (&self.terms[at.0], &self.accounts[at.0]);
        Share {
            quota: terms.quota.of(resource),
            limit: terms.limit.of(resource),
            weight: terms.weight[resource as usize],
            request: account.request.of(resource),
            usage: account.usage[resource as usize],
            priority: terms.priority,
            seniority: self.seniority[at.0],
        }
    }

    /// What it may hold before it holds what others are due: the larger of quota and fair share,
    /// within its limit.
    #[must_use]
    pub fn allowance(&self, at: QueueAt) -> Amount {
        let terms = &self.terms[at.0];
        terms.limit.min(&terms.quota.max(&self.accounts[at.0].fair))
    }
}

/// From a queue to the top. In a cycle every queue is a top.
fn path(terms: &[Terms], at: usize) -> Vec<QueueAt> {
    let above = |at: QueueAt| terms[at.0].parent.filter(|above| above.0 < terms.len());
    // A way up that is longer than there are queues is in a cycle, and never comes back to one
    // that is not in it.
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
