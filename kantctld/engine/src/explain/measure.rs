//! The five metrics of Kant (GAR, SOR, GFR, JWTD, JTTED), and what tracking fragmentation needs in
//! addition. Each is a formula over plain numbers, used by `kantctl metrics`, the API and the
//! simulator. A ratio is from 0 to 1, not a percentage; `None` if there is nothing to measure.
//!
//! Source: Kant (arXiv 2510.01256) names the five and prints no formula; these are the usual ones.
//! FR: VMR2L (EuroSys'25). FGD's ratio, [`fgd`]: Q. Weng et al. (USENIX ATC'23).
//! Reads: what is in use and free, how long jobs waited, where jobs went.
//! Knobs: none.
//!
//! Example. Node a has 8 GPUs, all in use by job 1; node b has 8, of which job 2 has 2; node c is
//! down and does not count. GAR is 10 of 16, 0.625. GFR is 1 broken node of 2, 0.5, and also 1 of
//! the 2 nodes in use. FR_8 is 1: a job of 8 can use none of the 6 free GPUs. Job 1 held its GPUs
//! for all of an hour, job 2 for half of it, job 3 waited: SOR over that hour is 9 GPU-hours of 16.
//! Had job 2 been placed on two nodes under two leafs, it would be stretched by 2 and 2, and its
//! training time estimated at 1.15 times the ideal.

mod cluster;
mod job_waits;
mod leaf_sizes;
mod mean;
mod size;

pub use cluster::{
    ClusterMeasure, KindMeasure, fgd_fragmentation, fragmentation_ratio_for, measure_cluster,
};
pub use job_waits::JobWaits;
pub use leaf_sizes::LeafSizes;
pub use mean::Mean;
pub use size::{KANT_SIZES, SIMULATE_SIZES, Size, size_of};

use common::time::Span;
use common::unit::{GpuMilli, Gpus, Nodes};
use std::ops::AddAssign;

/// The additional training time, as a fraction of the ideal, for each additional multiple of the
/// fewest nodes needed. This is our assumption, not a measurement: replace it with your own value
/// before you rely on [`time_ratio`].
pub const ALPHA: f64 = 0.10;

/// The same for each additional multiple of the fewest leaf groups needed.
pub const BETA: f64 = 0.05;

/// GPU allocation rate: GPUs in use, of all GPUs.
#[must_use]
pub fn gpu_allocation_rate(used: GpuMilli, all: GpuMilli) -> Option<f64> {
    ratio(f64::from(used.0), f64::from(all.0))
}

/// Thousandths of GPUs times milliseconds: exact for any length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct GpuTime(pub u128);

impl GpuTime {
    /// `gpus` for `span`.
    #[must_use]
    pub fn of(gpus: GpuMilli, span: Span) -> Self {
        Self(u128::from(gpus.0) * u128::from(span.0))
    }
}

impl AddAssign for GpuTime {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// Scheduling occupancy rate: GPU time held, of all GPU time in the window.
#[must_use]
#[allow(clippy::cast_precision_loss)] // 53 bits are more precision than is shown
pub fn scheduling_occupancy_rate(held: GpuTime, there_was: GpuTime) -> Option<f64> {
    ratio(held.0 as f64, there_was.0 as f64)
}

/// Whether a node's GPUs are neither wholly free nor wholly in use.
#[must_use]
pub const fn is_partly_used(used: GpuMilli, all: GpuMilli) -> bool {
    used.0 > 0 && used.0 < all.0
}

/// GPU fragmentation rate: broken nodes, of the nodes with GPUs. In the variant that a low load
/// does not flatter: of the nodes with any GPU in use.
#[must_use]
pub fn gpu_fragmentation_rate(broken: Nodes, of: Nodes) -> Option<f64> {
    ratio(f64::from(broken.0), f64::from(of.0))
}

/// Free thousandths of GPUs of one node that jobs cannot use which need `needed` whole GPUs of a
/// node, however many such jobs there are.
#[must_use]
pub const fn unusable_free_gpus(needed: Gpus, free: GpuMilli, wholly_free: Gpus) -> GpuMilli {
    let jobs = match wholly_free.0.checked_div(needed.0) {
        Some(jobs) => jobs,
        None => return GpuMilli::ZERO,
    };
    free.saturating_sub(GpuMilli::WHOLE.times(jobs * needed.0))
}

/// `FR_g`: free GPUs that jobs of g GPUs cannot use ([`unusable_free_gpus`], summed), of the free
/// GPUs. If no GPU is free, it is 0.
#[must_use]
pub fn fragmentation_ratio(useless: GpuMilli, free: GpuMilli) -> f64 {
    ratio(f64::from(useless.0), f64::from(free.0)).unwrap_or(0.0)
}

/// JWTD's quantiles: the smallest of the sorted values that is at least as large as `percent`
/// percent of them. Nearest rank: the result is always one of the values.
#[must_use]
pub fn nearest_rank<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// JTTED, raw: nodes used, relative to the fewest that have as many GPUs, at `gpus_per_node` GPUs a
/// node. At least 1 for a job that has what it asked for. `None` for a job of at most one GPU,
/// which has no choice.
#[must_use]
pub fn node_deviation(used: Nodes, gpus: GpuMilli, gpus_per_node: Gpus) -> Option<f64> {
    let fewest = gpus.0.div_ceil(1000).checked_div(gpus_per_node.0)?;
    let fewest = fewest + u32::from(fewest * gpus_per_node.0 < gpus.0.div_ceil(1000));
    (gpus > GpuMilli::WHOLE).then(|| f64::from(used.0) / f64::from(fewest))
}

/// JTTED, raw: leaf groups used, relative to the fewest that have as many GPUs. `None` for a job of
/// at most one GPU, and where all groups together have too few.
#[must_use]
pub fn leaf_group_deviation(used: u32, gpus: GpuMilli, sizes: &LeafSizes) -> Option<f64> {
    let fewest = sizes.fewest(gpus)?;
    (gpus > GpuMilli::WHOLE).then(|| f64::from(used) / f64::from(fewest))
}

/// JTTED: estimated training time where the job was placed, relative to the time on as few nodes
/// and groups as possible, with [`ALPHA`] and [`BETA`]. This is an estimate, not a measurement.
/// Without leaf groups only nodes count.
#[must_use]
pub fn time_ratio(dev_node: f64, dev_group: Option<f64>) -> f64 {
    let groups = dev_group.unwrap_or(1.0);
    1.0 + ALPHA * (dev_node - 1.0) + BETA * (groups - 1.0)
}

fn ratio(part: f64, all: f64) -> Option<f64> {
    (all > 0.0).then(|| part / all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::node_snapshot::Unusable;
    use crate::testing::{gpu_node, snapshot, use_gpus};

    #[test]
    fn the_example() {
        let mut c = gpu_node("c", 8);
        c.unusable = Some(Unusable::Down);
        let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8), c]);
        use_gpus(&mut snapshot, "a", 8);
        use_gpus(&mut snapshot, "b", 2);
        let measure = measure_cluster(&snapshot);
        assert_eq!(
            (measure.gpu_allocation_rate(), measure.gpu_fragmentation_rate()),
            (Some(0.625), Some(0.5))
        );
        assert_eq!(
            (measure.fragmentation_rate_of_used(), measure.fragmentation_ratio_of_8()),
            (Some(0.5), 1.0)
        );

        let mut held = GpuTime::of(GpuMilli(8000), Span::from_minutes(60));
        held += GpuTime::of(GpuMilli(2000), Span::from_minutes(30));
        let there_was = GpuTime::of(GpuMilli(16_000), Span::from_minutes(60));
        assert_eq!(scheduling_occupancy_rate(held, there_was), Some(9.0 / 16.0));

        let nodes = node_deviation(Nodes(2), GpuMilli(2000), Gpus(8)).unwrap();
        let sizes = LeafSizes::of([Gpus(8), Gpus(8)].into_iter());
        let groups = leaf_group_deviation(2, GpuMilli(2000), &sizes);
        assert_eq!((nodes, groups), (2.0, Some(2.0)));
        assert!((time_ratio(nodes, groups) - 1.15).abs() < 1e-12);
    }

    #[test]
    fn of_nothing_there_is_no_ratio() {
        assert_eq!(gpu_allocation_rate(GpuMilli::ZERO, GpuMilli::ZERO), None);
        assert_eq!(gpu_fragmentation_rate(Nodes(0), Nodes(0)), None);
        assert_eq!(scheduling_occupancy_rate(GpuTime::default(), GpuTime::default()), None);
        assert_eq!(
            (fragmentation_ratio(GpuMilli::ZERO, GpuMilli::ZERO), nearest_rank(&[0; 0], 50)),
            (0.0, None)
        );
        assert_eq!(node_deviation(Nodes(2), GpuMilli(9000), Gpus(0)), None);
    }

    #[test]
    fn only_wholly_free_gpus_in_full_sets_are_of_use() {
        let useless =
            |needed, free, whole| unusable_free_gpus(Gpus(needed), GpuMilli(free), Gpus(whole)).0;
        assert_eq!(useless(8, 8000, 8), 0);
        assert_eq!(useless(8, 7500, 7), 7500);
        assert_eq!(useless(8, 17_500, 17), 1500);
        assert_eq!(useless(2, 3500, 3), 1500);
        assert_eq!((useless(1, 3500, 3), useless(0, 3500, 3)), (500, 0));
    }

    #[test]
    fn a_job_on_as_few_nodes_as_may_be_is_not_stretched() {
        assert_eq!(node_deviation(Nodes(2), GpuMilli(9000), Gpus(8)), Some(1.0));
        assert_eq!(node_deviation(Nodes(3), GpuMilli(16_000), Gpus(8)), Some(1.5));
        assert_eq!(
            node_deviation(Nodes(1), GpuMilli(1000), Gpus(8)),
            None,
            "one GPU has no choice"
        );
        assert_eq!(
            leaf_group_deviation(1, GpuMilli(500), &LeafSizes::of([Gpus(8)].into_iter())),
            None
        );
        assert!((time_ratio(2.0, None) - 1.1).abs() < 1e-12, "without groups nodes alone count");
    }
}
