//! How well the GPUs are used: GAR, GFR and SOR. Never decides anything.
//!
//! Source: Kant (arXiv 2510.01256) names them; it prints no formula, these are the usual ones.
//! Reads: free and offered GPUs of nodes that are not down, or spans of use. Knobs: none.
//!
//! Example. Node a has 8 GPUs, all in use; node b has 8, 2 in use; node c is down. GAR is 10 of 16,
//! 0.625. GFR is 1 broken node of 2, 0.5. Job 1 held 8 GPUs for all of an hour, job 2 held 2 for
//! half of it, job 3 waited: SOR over that hour is 9 GPU-hours of 16.

use crate::snapshot::{Snapshot, Unusable};
use common::time::Time;
use common::unit::Gpus;

/// GPUs in use and offered on each node with GPUs that is not down.
fn gpu_nodes(snapshot: &Snapshot) -> impl Iterator<Item = (u32, u32)> + '_ {
    let nodes = snapshot.floor.nodes().map(|(_, node)| node);
    nodes.filter(|node| node.unusable != Some(Unusable::Down)).filter_map(|node| {
        let offered = 1000 * u32::try_from(node.free.milli.len()).ok()?;
        (offered > 0).then(|| (offered - node.free.milli_sum, offered))
    })
}

/// GPU allocation ratio, 0 to 1: GPUs in use of those on nodes that are not down; 0 without GPUs.
#[must_use]
pub fn gar(snapshot: &Snapshot) -> f64 {
    let sums = gpu_nodes(snapshot).fold((0, 0), |(a, b), (used, offered)| (a + used, b + offered));
    ratio(f64::from(sums.0), f64::from(sums.1))
}

/// GPU node fragmentation ratio, 0 to 1: nodes with some but not all GPUs in use, of all nodes with
/// GPUs that are not down; 0 without any.
#[must_use]
pub fn gfr(snapshot: &Snapshot) -> f64 {
    let broken = gpu_nodes(snapshot).filter(|(used, offered)| (1..*offered).contains(used));
    ratio(broken.count() as f64, gpu_nodes(snapshot).count() as f64)
}

/// One job's use of GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuUse {
    /// GPUs held.
    pub gpus: Gpus,
    /// From.
    pub from: Time,
    /// To.
    pub to: Time,
}

/// Scheduling occupancy ratio, 0 to 1: GPU-time held of GPU-time offered from `from` to `to`, with
/// `offered` GPUs all the while; 0 for an empty window.
#[must_use]
pub fn sor(uses: &[GpuUse], offered: Gpus, from: Time, to: Time) -> f64 {
    let held = |use_: &GpuUse| {
        let span = use_.to.min(to).since(use_.from.max(from));
        f64::from(use_.gpus.0) * span.0 as f64
    };
    ratio(uses.iter().map(held).sum(), f64::from(offered.0) * to.since(from).0 as f64)
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cpu_node, gpu_node, snapshot, use_gpus};

    #[test]
    fn the_example() {
        let mut c = gpu_node("c", 8);
        c.unusable = Some(Unusable::Down);
        let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8), c]);
        use_gpus(&mut snapshot, "a", 8);
        use_gpus(&mut snapshot, "b", 2);
        snapshot.settle(Time(0));
        assert_eq!(gar(&snapshot), 0.625);
        assert_eq!(gfr(&snapshot), 0.5);

        let minute = |m: u64| Time(m * 60_000);
        let uses = [
            GpuUse { gpus: Gpus(8), from: minute(0), to: minute(500) },
            GpuUse { gpus: Gpus(2), from: minute(90), to: minute(120) },
        ];
        assert_eq!(sor(&uses, Gpus(16), minute(60), minute(120)), 9.0 / 16.0);
    }

    #[test]
    fn without_gpus_all_are_zero() {
        let snapshot = snapshot(vec![cpu_node("a", 4)]);
        assert_eq!((gar(&snapshot), gfr(&snapshot)), (0.0, 0.0));
        assert_eq!(sor(&[], Gpus(0), Time(0), Time(0)), 0.0);
    }
}
