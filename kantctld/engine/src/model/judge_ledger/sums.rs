//! What jobs hold, in sums of the judge.

use common::cpuset::CpuSet;
use common::gpu::GpuKind;
use common::id::{GpuIndex, NodeName};
use common::node::Inventory;
use common::policy::Amounts;
use common::resource::Share;
use common::time::{Span, Time};
use std::collections::BTreeMap;

/// A resource that a quota may name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Column {
    Gpus,
    Kind(GpuKind),
    Cpus,
    Memory,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    pub jobs: u64,
    /// Thousandths of GPUs, CPUs, bytes.
    pub amounts: BTreeMap<Column, u64>,
    /// Thousandths of GPUs, times the milliseconds left.
    pub gpu_time: u128,
}

impl Held {
    /// One job with these shares.
    pub fn of(
        shares: &[Share],
        kind: impl Fn(&NodeName, GpuIndex) -> Option<GpuKind>,
        to_go: Option<Span>,
    ) -> Self {
        let mut held = Self { jobs: 1, ..Self::default() };
        for share in shares {
            let each = share.gpu_milli.map_or(1000, |milli| u64::from(milli.0));
            held.add(Column::Cpus, share.cpus.len().into());
            held.add(Column::Memory, share.memory.0);
            held.add(Column::Gpus, each * share.gpus.len() as u64);
            for kind in share.gpus.iter().filter_map(|index| kind(&share.node, *index)) {
                held.add(Column::Kind(kind), each);
            }
        }
        let to_go = to_go.unwrap_or(Span(0));
        held.gpu_time = u128::from(held.get(&Column::Gpus)) * u128::from(to_go.0);
        held
    }

    /// All of a node.
    pub fn all_of(has: &Inventory) -> Self {
        let cpus: u32 = has.cores.iter().map(CpuSet::len).sum();
        let mut all = Self::default();
        all.amounts.insert(Column::Cpus, cpus.into());
        all.amounts.insert(Column::Memory, has.memory.0);
        all.amounts.insert(Column::Gpus, has.gpus.len() as u64 * 1000);
        for gpu in &has.gpus {
            *all.amounts.entry(Column::Kind(gpu.kind.clone())).or_default() += 1000;
        }
        all
    }

    fn add(&mut self, column: Column, amount: u64) {
        if amount > 0 {
            *self.amounts.entry(column).or_default() += amount;
        }
    }

    pub fn get(&self, column: &Column) -> u64 {
        self.amounts.get(column).copied().unwrap_or(0)
    }

    pub fn add_all(&mut self, other: &Self) {
        self.jobs += other.jobs;
        self.gpu_time += other.gpu_time;
        for (column, amount) in &other.amounts {
            self.add(column.clone(), *amount);
        }
    }

    /// Subtracts what was added.
    pub fn subtract(&mut self, other: &Self) {
        self.jobs = self.jobs.saturating_sub(other.jobs);
        self.gpu_time = self.gpu_time.saturating_sub(other.gpu_time);
        for (column, amount) in &other.amounts {
            if let Some(held) = self.amounts.get_mut(column) {
                *held = held.saturating_sub(*amount);
            }
        }
    }
}

/// The kind of a GPU of a node.
pub(crate) fn kind_in(has: &Inventory, index: GpuIndex) -> Option<GpuKind> {
    has.gpus.iter().find(|gpu| gpu.index == index).map(|gpu| gpu.kind.clone())
}

/// The amount of a resource in a quota.
pub(crate) fn named_amount(amounts: &Amounts, column: &Column) -> Option<u64> {
    match column {
        Column::Gpus => amounts.gpus_any.map(|gpus| u64::from(gpus.0) * 1000),
        Column::Kind(kind) => amounts.gpus.get(kind).map(|gpus| u64::from(gpus.0) * 1000),
        Column::Cpus => amounts.cpus.map(|cpus| cpus.0.into()),
        Column::Memory => amounts.memory.map(|memory| memory.0),
    }
}

/// The time left until a running job's time limit; `None`: it has none.
pub(crate) fn to_go(ends_by: Option<Time>, now: Time) -> Option<Span> {
    ends_by.map(|ends| ends.since(now))
}
