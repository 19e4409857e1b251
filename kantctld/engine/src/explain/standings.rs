//! The standing of queues, for display: what each is guaranteed, holds, waits for and is entitled
//! to, and what it borrows from which queue. Shares are those of the next round, computed by the
//! same code.

use crate::model::claims::of_shape;
use crate::model::shares::tree::{QueueAt, Tree};
use crate::model::shares::{Kinds, terms};
use crate::model::shares::{Resource, UNLIMITED};
use crate::model::snapshot::Snapshot;
use crate::model::usage_accounting::{Claim, UsageAccounting};
use crate::policy::sharing::past::used_ppm;
use crate::round::fair_share::Accounts;
use crate::round::planner::RoundState;
use common::gpu::GpuKind;
use common::policy::{Amounts, Policy, QuotaMode};
use common::reason::What;
use common::time::Time;
use common::unit::Gpus;
use common::wire::api::{Lender, ShareOf, ShareView};
use lending::{Debt, Holding, debts};
use std::collections::BTreeSet;

mod lending;

/// A resource that is shown.
#[derive(Debug, Clone, Copy)]
struct Column<'a> {
    what: What,
    kind: Option<&'a GpuKind>,
}

/// The standing of all queues, as a round at `now` would compute it. Each queue follows its parent.
/// Fair shares are left out where fair sharing is off. If the snapshot is not settled, a settled
/// copy is used. Costs as much as the accounts of a round.
#[must_use]
pub fn standings(snapshot: &Snapshot, now: Time) -> Vec<ShareView> {
    if !snapshot.is_ready_for_round(now) {
        let mut settled = snapshot.clone();
        settled.prepare_for_round(now);
        return standings(&settled, now);
    }
    let policy = &snapshot.policy;
    let queues = &policy.queues;
    // Only parents matter here; the bounds are those of the view.
    let none = Kinds::new();
    let tree = Tree::new(terms(queues, &none));
    let mut state = RoundState::new(snapshot, now);
    let columns = columns(policy, &snapshot.capacity);
    let mut all: Vec<Vec<ShareOf>> = queues
        .iter()
        .map(|queue| {
            let (owed, most) = (&queue.quota.amounts, &queue.quota.at_most);
            columns.iter().map(|one| initial_share(*one, owed, most)).collect()
        })
        .collect();
    tally(&mut state, &tree, &columns, &mut all);
    let mut capacity: Vec<u64> =
        columns.iter().map(|one| one.amount_in(&snapshot.capacity).unwrap_or(0)).collect();
    if policy.fair_sharing {
        let accounts = Accounts::of(&mut state);
        for (column, capacity) in columns.iter().zip(&mut capacity) {
            if let Some(resource) = column.resource() {
                *capacity = non_negative_amount(accounts.total.get(resource));
            }
        }
        apply_fair_shares(&accounts.tree, &columns, &mut all);
        for (shares, used) in all.iter_mut().zip(used_ppm(snapshot, now)) {
            let gpus = columns.iter().position(|one| one.resource() == Some(Resource::Gpu));
            gpus.into_iter().for_each(|at| shares[at].used_ppm = Some(used));
        }
    }
    let order = queues_parent_first(&tree);
    for column in capacity.into_iter().enumerate() {
        fill_in_lending(policy, &tree, &order, column, &mut all);
    }
    let view = |at: QueueAt| {
        let queue = &queues[at.0];
        ShareView {
            queue: queue.name.clone(),
            depth: u32::try_from(tree.path(at).len() - 1).unwrap_or(u32::MAX),
            priority: queue.priority,
            weight: queue.weight,
            of: all[at.0].clone(),
        }
    };
    order.into_iter().map(view).collect()
}

impl Column<'_> {
    /// The resource whose shares apply; `None` for a single kind of GPU.
    const fn resource(&self) -> Option<Resource> {
        match (self.what, self.kind) {
            (What::Gpus, None) => Some(Resource::Gpu),
            (What::Cpus, _) => Some(Resource::Cpu),
            (What::Memory, _) => Some(Resource::Memory),
            _ => None,
        }
    }

    fn amount_in(&self, amounts: &Amounts) -> Option<u64> {
        let milli = |gpus: Gpus| u64::from(gpus.0) * 1000;
        match (self.what, self.kind) {
            (What::Gpus, Some(kind)) => amounts.gpus.get(kind).copied().map(milli),
            (What::Gpus, None) => amounts.gpus_any.map(milli),
            (What::Cpus, _) => amounts.cpus.map(|cpus| u64::from(cpus.0) * 1000),
            _ => amounts.memory.map(|memory| memory.0),
        }
    }

    fn amount_in_claim(&self, claim: &Claim, accounting: &UsageAccounting) -> u64 {
        match (self.what, self.kind) {
            (What::Gpus, Some(kind)) => {
                let known = |index| claim.kinds().iter().find(|(kind, _)| *kind == index);
                accounting.kind(kind).and_then(known).map_or(0, |(_, milli)| *milli)
            }
            (What::Gpus, None) => claim.gpu_milli(),
            (What::Cpus, _) => u64::from(claim.cpus.0) * 1000,
            _ => claim.memory.0,
        }
    }
}

/// The resources to show: GPUs, unless all of them are of kinds that quotas name; then what some
/// quota names.
fn columns<'a>(policy: &'a Policy, capacity: &Amounts) -> Vec<Column<'a>> {
    let said =
        || policy.queues.iter().flat_map(|queue| [&queue.quota.amounts, &queue.quota.at_most]);
    let kinds: BTreeSet<&GpuKind> = said().flat_map(|amounts| amounts.gpus.keys()).collect();
    let is_by_kind = !kinds.is_empty()
        && !policy.fair_sharing
        && capacity.gpus.keys().all(|kind| kinds.contains(kind))
        && said().all(|amounts| amounts.gpus_any.is_none());
    let plain = |what: What| Column { what, kind: None };
    let mut columns = Vec::new();
    columns.extend((!is_by_kind).then_some(plain(What::Gpus)));
    columns.extend(kinds.into_iter().map(|kind| Column { what: What::Gpus, kind: Some(kind) }));
    columns.extend(said().any(|one| one.cpus.is_some()).then_some(plain(What::Cpus)));
    columns.extend(said().any(|one| one.memory.is_some()).then_some(plain(What::Memory)));
    columns
}

fn initial_share(column: Column<'_>, owed: &Amounts, most: &Amounts) -> ShareOf {
    ShareOf {
        what: column.what,
        gpu_kind: column.kind.cloned(),
        quota: column.amount_in(owed),
        at_most: column.amount_in(most),
        held: 0,
        firm: 0,
        waiting: 0,
        share: None,
        borrowed: 0,
        from: Vec::new(),
        lent: 0,
        used_ppm: None,
    }
}

/// What jobs hold and wait for, as quotas count it.
fn tally(
    state: &mut RoundState<'_>,
    tree: &Tree,
    columns: &[Column<'_>],
    all: &mut [Vec<ShareOf>],
) {
    let snapshot = state.snapshot;
    let queues = &snapshot.policy.queues;
    let mut add = |claim: &Claim,
                   at: usize,
                   accounting: &UsageAccounting,
                   change: &dyn Fn(&mut ShareOf, u64)| {
        for at in tree.path(QueueAt(at)) {
            for (column, share) in columns.iter().zip(&mut all[at.0]) {
                change(share, column.amount_in_claim(claim, accounting));
            }
        }
    };
    for job in snapshot.all_running() {
        let at = queues.iter().position(|queue| queue.name == job.queue);
        let Some((claim, at)) = snapshot.claim_of(job.key).zip(at) else { continue };
        add(claim, at, &snapshot.accounting, &|share, amount| {
            share.held += amount;
            share.firm += if job.preemptible { 0 } else { amount };
        });
    }
    for job in snapshot.all_waiting().filter(|job| snapshot.class_of(job.key).is_some()) {
        let Some(at) = queues.iter().position(|queue| queue.name == job.queue) else { continue };
        let shape = state.shape_for(&queues[at], job);
        let (account, qos) = (job.account.as_ref(), job.qos.as_ref());
        let principal = state.accounting.known_principal(&job.queue, job.owner, account, qos);
        let claim = of_shape(state.shapes.get(shape), principal, &state.accounting);
        add(&claim, at, &state.accounting, &|share, amount| share.waiting += amount);
    }
}

/// Replaces these amounts by those of a fair-sharing round.
fn apply_fair_shares(tree: &Tree, columns: &[Column<'_>], all: &mut [Vec<ShareOf>]) {
    for (at, shares) in all.iter_mut().enumerate() {
        let (terms, account) = (&tree.terms[at], &tree.accounts[at]);
        for (column, share) in columns.iter().zip(shares) {
            let Some(resource) = column.resource() else { continue };
            let bound = |of: i64| (of != UNLIMITED).then(|| non_negative_amount(of));
            share.quota = bound(terms.quota.get(resource));
            share.at_most = bound(terms.limit.get(resource));
            share.held = non_negative_amount(account.allocated.get(resource));
            share.firm = non_negative_amount(account.firm.get(resource));
            share.waiting =
                non_negative_amount(account.request.get(resource)).saturating_sub(share.held);
            share.share = Some(non_negative_amount(account.fair.get(resource)));
        }
    }
}

/// All queues, each after its parent, older before younger.
fn queues_parent_first(tree: &Tree) -> Vec<QueueAt> {
    let family = |above: Option<QueueAt>| {
        let mut family = tree.below(above).to_vec();
        family.sort_by_key(|at| std::cmp::Reverse(tree.seniority(*at)));
        family
    };
    let mut order = Vec::new();
    let mut open = family(None);
    while let Some(at) = open.pop() {
        order.push(at);
        open.extend(family(Some(at)));
    }
    order
}

fn fill_in_lending(
    policy: &Policy,
    tree: &Tree,
    order: &[QueueAt],
    (column, capacity): (usize, u64),
    all: &mut [Vec<ShareOf>],
) {
    let place = |at: QueueAt| order.iter().position(|one| *one == at);
    let holding = |at: &QueueAt| Holding {
        above: tree.path(*at).get(1).and_then(|above| place(*above)),
        quota: all[at.0][column].quota,
        held: all[at.0][column].held,
        lends: policy.queues[at.0].quota.mode == QuotaMode::Shared,
    };
    let holdings: Vec<Holding> = order.iter().map(holding).collect();
    for (at, Debt { borrowed, from, lent }) in order.iter().zip(debts(capacity, &holdings)) {
        let share = &mut all[at.0][column];
        (share.borrowed, share.lent) = (borrowed, lent);
        let name = |at: usize| policy.queues[order[at].0].name.clone();
        let lender =
            |(queue, amount): (Option<usize>, u64)| Lender { queue: queue.map(name), amount };
        share.from = from.into_iter().map(lender).collect();
    }
}

fn non_negative_amount(of: i64) -> u64 {
    u64::try_from(of).unwrap_or(0)
}

#[cfg(test)]
mod tests;
