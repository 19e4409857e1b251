//! The resources that quotas name, as columns: GPUs of any kind, CPUs, memory, then GPUs of each
//! kind that some quota names. The sums are in `quota`.

use super::claim::{Claim, KindIndex};
use common::gpu::GpuKind;
use common::policy::{Amounts, Policy};
use common::reason::{Counted, What};
use common::unit::Gpus;
use std::ops::{Index, IndexMut};

/// The index of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Column(pub usize);

/// GPUs of any kind, in thousandths.
pub(super) const GPUS: Column = Column(0);
pub(super) const CPUS: Column = Column(1);
/// Memory, in bytes.
pub(super) const MEMORY: Column = Column(2);
const KINDS_FROM: usize = 3;

/// A row of columns for each queue, all in one piece: each round copies them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rows {
    columns: usize,
    cells: Vec<u64>,
}

impl Rows {
    pub fn zero(rows: usize, columns: usize) -> Self {
        Self { columns, cells: vec![0; rows * columns] }
    }
}

impl Index<usize> for Rows {
    type Output = [u64];

    fn index(&self, row: usize) -> &[u64] {
        &self.cells[row * self.columns..][..self.columns]
    }
}

impl IndexMut<usize> for Rows {
    fn index_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.cells[row * self.columns..][..self.columns]
    }
}

/// The columns of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Columns {
    kinds: Vec<GpuKind>,
}

/// The bound of each column; `None`: unbounded.
pub(super) type Bounds = Vec<Option<u64>>;

impl Columns {
    /// The columns that the quotas of a policy name.
    pub fn new(policy: &Policy) -> Self {
        let quotas = policy.queues.iter().map(|queue| &queue.quota);
        let kinds = quotas.flat_map(|q| q.amounts.gpus.keys().chain(q.at_most.gpus.keys()));
        let mut kinds: Vec<GpuKind> = kinds.cloned().collect();
        kinds.sort_unstable();
        kinds.dedup();
        Self { kinds }
    }

    pub fn count(&self) -> usize {
        KINDS_FROM + self.kinds.len()
    }

    /// The number of a kind; `None`: no quota names it.
    pub fn kind(&self, kind: &GpuKind) -> Option<KindIndex> {
        self.kinds.binary_search(kind).ok().map(KindIndex)
    }

    /// These amounts, by column.
    pub fn bounds(&self, amounts: &Amounts) -> Bounds {
        let of_kinds =
            self.kinds.iter().map(|kind| amounts.gpus.get(kind).copied().map(gpus_to_milli));
        [
            amounts.gpus_any.map(gpus_to_milli),
            amounts.cpus.map(|cpus| u64::from(cpus.0)),
            amounts.memory.map(|memory| memory.0),
        ]
        .into_iter()
        .chain(of_kinds)
        .collect()
    }

    /// The capacity by column. There is none of a kind that is not listed. If GPUs of any kind are
    /// not given, they are the sum of all kinds.
    pub fn capacity(&self, amounts: &Amounts) -> Bounds {
        let mut bounds = self.bounds(amounts);
        let gpus: u64 = amounts.gpus.values().copied().map(gpus_to_milli).sum();
        bounds[GPUS.0].get_or_insert(gpus);
        for bound in &mut bounds[KINDS_FROM..] {
            bound.get_or_insert(0);
        }
        bounds
    }

    /// The kind of all whole GPUs, if they are all of one kind and a quota names it.
    pub fn only_kind(&self, capacity: &Amounts) -> Option<KindIndex> {
        let (mig, whole): (Vec<_>, Vec<_>) =
            capacity.gpus.iter().partition(|(kind, _)| kind.is_mig());
        let sum = |of: &[(&GpuKind, &Gpus)]| {
            of.iter().map(|(_, gpus)| gpus_to_milli(**gpus)).sum::<u64>()
        };
        let all = capacity
            .gpus_any
            .map_or_else(|| sum(&whole), |all| gpus_to_milli(all).saturating_sub(sum(&mig)));
        let is_all = |(_, gpus): &&(&GpuKind, &Gpus)| gpus.0 > 0 && gpus_to_milli(**gpus) == all;
        whole.iter().find(is_all).and_then(|(kind, _)| self.kind(kind))
    }

    /// The numbers of a bound on a column.
    pub fn counted_limit(&self, column: Column, limit: u64, used: u64, asked: u64) -> Counted {
        let gpu_kind = column.0.checked_sub(KINDS_FROM).map(|kind| self.kinds[kind].clone());
        let what = match column {
            CPUS => What::Cpus,
            MEMORY => What::Memory,
            _ => What::Gpus,
        };
        Counted { what, gpu_kind, limit, used, asked }
    }
}

impl From<KindIndex> for Column {
    fn from(kind: KindIndex) -> Self {
        Self(KINDS_FROM + kind.0)
    }
}

/// The amounts of a claim by column; none is zero. Kinds of GPU come first: a bound on a kind is
/// more specific than one on all of them.
pub(super) fn amounts(claim: &Claim) -> impl Iterator<Item = (Column, u64)> + '_ {
    let kinds = claim.kinds().iter().map(|(kind, amount)| (Column::from(*kind), *amount));
    let others =
        [(GPUS, claim.gpu_milli()), (CPUS, u64::from(claim.cpus.0)), (MEMORY, claim.memory.0)];
    kinds.chain(others.into_iter().filter(|(_, amount)| *amount > 0))
}

fn gpus_to_milli(gpus: Gpus) -> u64 {
    u64::from(gpus.0) * 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::unit::{Bytes, Cpus};
    use std::collections::BTreeMap;

    #[test]
    fn the_only_kind_is_that_of_all_whole_gpus() {
        let kinds = ["a100", "h100", "h100-1g.10gb"].map(|kind| GpuKind(kind.to_owned()));
        let columns = Columns { kinds: kinds.to_vec() };
        let only = |counts: [u32; 3], gpus_any: Option<u32>| {
            let gpus = kinds.iter().cloned().zip(counts.map(Gpus)).collect();
            let gpus_any = gpus_any.map(Gpus);
            columns.only_kind(&Amounts { gpus, gpus_any, ..Amounts::default() })
        };
        assert_eq!(only([0, 8, 0], None), Some(KindIndex(1)));
        assert_eq!(only([0, 8, 4], Some(12)), Some(KindIndex(1)), "parts are of no concern");
        assert_eq!(only([0, 8, 4], Some(14)), None, "two are of a kind that is not named");
        assert_eq!(only([2, 8, 0], None), None);
        assert_eq!(only([0, 0, 4], None), None, "there is no whole one");
    }

    #[test]
    fn capacity_has_none_of_a_kind_it_does_not_name_and_bounds_say_nothing_of_it() {
        let kinds = ["a100", "h100"].map(|kind| GpuKind(kind.to_owned()));
        let columns = Columns { kinds: kinds.to_vec() };
        let amounts = Amounts {
            gpus: BTreeMap::from([
                (kinds[1].clone(), Gpus(8)),
                (GpuKind("v100".to_owned()), Gpus(2)),
            ]),
            gpus_any: None,
            cpus: Some(Cpus(64)),
            memory: Some(Bytes(1)),
        };
        let bounds = [None, Some(64), Some(1), None, Some(8_000)];
        assert_eq!(columns.bounds(&amounts), bounds);
        let capacity = [Some(10_000), Some(64), Some(1), Some(0), Some(8_000)];
        assert_eq!(columns.capacity(&amounts), capacity);
    }
}
