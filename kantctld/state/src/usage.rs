//! The past usage of the cluster: GPU and CPU time by account and user, in buckets of an hour, for
//! the last 14 days. An allocation is charged from the moment it is given, for what it keeps from
//! others and not for what its processes use (man sreport, "usage"; Slurm charges the same way).
//! All numbers are integers, so that replicas agree. Weighting and decay are up to the engine's
//! fair share.

use common::id::{AccountName, Uid};
use common::resource::Share;
use common::time::{Span, Time};
use common::unit::{Cpus, GpuMilli};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of hours that are kept besides the current one.
pub const HOURS_KEPT: u64 = 14 * 24;

const HOUR_MILLISECONDS: u64 = 3_600_000;

/// The account and user that are charged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Charged {
    /// The account; `None` for jobs that named none.
    pub account: Option<AccountName>,
    pub user: Uid,
}

/// A clock hour: hours since 1970-01-01T00:00:00Z.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Hour(pub u64);

/// The usage in some span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Used {
    /// GPUs times milliseconds. A part of a GPU counts as that part.
    pub gpu_milliseconds: u64,
    /// CPUs times milliseconds.
    pub cpu_milliseconds: u64,
}

impl Used {
    /// What a share of an allocation keeps from others in this time.
    #[must_use]
    pub fn of_share(share: &Share, time: Span) -> Self {
        Self::of_amounts((share.gpus_milli(), Cpus(share.cpus.len())), time)
    }

    fn of_amounts((gpus, cpus): (GpuMilli, Cpus), Span(milliseconds): Span) -> Self {
        let gpu_milli = u64::from(gpus.0).saturating_mul(milliseconds);
        let cpu_milliseconds = u64::from(cpus.0).saturating_mul(milliseconds);
        Self { gpu_milliseconds: gpu_milli / 1000, cpu_milliseconds }
    }

    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self {
            gpu_milliseconds: self.gpu_milliseconds.saturating_add(more.gpu_milliseconds),
            cpu_milliseconds: self.cpu_milliseconds.saturating_add(more.cpu_milliseconds),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usages(BTreeMap<Charged, BTreeMap<Hour, Used>>);

impl Hour {
    /// The hour that contains this time.
    #[must_use]
    pub const fn of(time: Time) -> Self {
        Self(time.0 / HOUR_MILLISECONDS)
    }

    #[must_use]
    pub const fn begin(self) -> Time {
        Time(self.0.saturating_mul(HOUR_MILLISECONDS))
    }

    /// The first hour that is kept.
    #[must_use]
    pub const fn first_kept(now: Time) -> Self {
        Self(Self::of(now).0.saturating_sub(HOURS_KEPT))
    }
}

impl Usages {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All accounts and users with their hours, both in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (&Charged, &BTreeMap<Hour, Used>)> {
        self.0.iter()
    }

    /// Charges a share for the time from `from` to `to`, split by hours. Hours that are no longer
    /// kept are left out.
    pub(crate) fn charge(&mut self, payer: &Charged, share: &Share, from: Time, to: Time) {
        if let Some(hours) = self.0.get_mut(payer) {
            return add_share(hours, share, from, to);
        }
        let mut hours = BTreeMap::new();
        add_share(&mut hours, share, from, to);
        if !hours.is_empty() {
            self.0.insert(payer.clone(), hours);
        }
    }

    /// Drops hours that are too old.
    pub(crate) fn forget(&mut self, now: Time) {
        let first = Hour::first_kept(now);
        for hours in self.0.values_mut() {
            hours.retain(|hour, _| *hour >= first);
        }
        self.0.retain(|_, hours| !hours.is_empty());
    }
}

/// Adds the usage of a share for the time from `from` to `to`, split by hours. Hours that are no
/// longer kept are left out.
pub(crate) fn add_share(hours: &mut BTreeMap<Hour, Used>, share: &Share, from: Time, to: Time) {
    let amounts = (share.gpus_milli(), Cpus(share.cpus.len()));
    let mut from = from.max(Hour::first_kept(to).begin());
    while from < to {
        let hour = Hour::of(from);
        let until = to.min(Hour(hour.0 + 1).begin());
        let used = hours.entry(hour).or_default();
        *used = used.and(Used::of_amounts(amounts, until.since(from)));
        from = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::cpuset::CpuSet;
    use common::id::{GpuIndex, NodeName};
    use common::unit::{Bytes, Tasks};

    fn share(cpus: u32, gpus: u16, part: Option<u32>) -> Share {
        Share {
            node: NodeName::new("n1").unwrap(),
            tasks: Tasks(1),
            cpus: CpuSet::first_n(cpus),
            memory: Bytes(1),
            gpus: (0..gpus).map(GpuIndex).collect(),
            gpu_milli: part.map(GpuMilli),
        }
    }

    fn hours(usages: &Usages) -> Vec<(u64, u64, u64)> {
        let all = usages.iter().flat_map(|(_, hours)| hours);
        all.map(|(hour, used)| (hour.0, used.gpu_milliseconds, used.cpu_milliseconds)).collect()
    }

    const ADA: Charged = Charged { account: None, user: Uid(1000) };

    #[test]
    fn each_hour_is_charged_its_part() {
        let mut usages = Usages::default();
        let (from, to) = (Time(HOUR_MILLISECONDS * 500 - 10), Time(HOUR_MILLISECONDS * 501 + 7));
        usages.charge(&ADA, &share(2, 4, None), from, to);
        let hour = HOUR_MILLISECONDS;
        assert_eq!(hours(&usages), [(499, 40, 20), (500, 4 * hour, 2 * hour), (501, 28, 14)]);
    }

    #[test]
    fn a_share_of_a_gpu_counts_as_that_share() {
        let mut usages = Usages::default();
        usages.charge(&ADA, &share(1, 1, Some(250)), Time(0), Time(4000));
        assert_eq!(hours(&usages), [(0, 1000, 4000)]);
    }

    #[test]
    fn only_fourteen_days_are_charged_and_kept() {
        let mut usages = Usages::default();
        let year = Time(HOUR_MILLISECONDS * 24 * 365);
        usages.charge(&ADA, &share(1, 1, None), Time(0), year);
        assert_eq!(usages.0[&ADA].len() as u64, HOURS_KEPT);
        usages.forget(year + Span(HOUR_MILLISECONDS * 24 * 13));
        assert_eq!(usages.0[&ADA].len(), 24);
        usages.forget(year + Span(HOUR_MILLISECONDS * 24 * 14));
        assert!(usages.is_empty());
    }
}
