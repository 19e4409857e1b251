//! JTTED of a replay: how far jobs were spread beyond need, and the estimated cost. The formulas
//! are in `engine::measure`. Jobs of at most one GPU are left out, since they have no choice.

use super::{JobOutcome, NodeIndex, Outcome};
use common::unit::{Gpus, Nodes};
use engine::measure::{self, LeafSizes, Mean};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Means over the started jobs of more than one GPU. `None` if there are none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Stretch {
    /// Nodes used, relative to the fewest of its largest nodes that have as many GPUs: 1 is best.
    pub dev_node: Option<f64>,
    /// Leaf groups used, relative to the fewest that have as many GPUs: 1 is best. `None` in a
    /// cluster without leaf groups.
    pub dev_group: Option<f64>,
    /// Estimated training time relative to the ideal one. This is an estimate, not a measurement.
    pub time_ratio: Option<f64>,
    /// The assumed cost of each additional multiple of nodes.
    pub alpha: f64,
    /// The assumed cost of each additional multiple of leaf groups.
    pub beta: f64,
}

impl Stretch {
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        let sizes = leaf_sizes(outcome);
        let jobs = outcome.jobs.iter().filter(|job| !job.nodes.is_empty());
        let (mut nodes, mut groups, mut times) =
            (Mean::default(), Mean::default(), Mean::default());
        for job in jobs {
            let dev_group = group_deviation(outcome, &sizes, job);
            let Some(dev_node) = node_deviation(outcome, job) else { continue };
            nodes.add(dev_node);
            dev_group.into_iter().for_each(|deviation| groups.add(deviation));
            times.add(measure::time_ratio(dev_node, dev_group));
        }
        Self {
            dev_node: nodes.value(),
            dev_group: groups.value(),
            time_ratio: times.value(),
            alpha: measure::ALPHA,
            beta: measure::BETA,
        }
    }
}

fn node_deviation(outcome: &Outcome, job: &JobOutcome) -> Option<f64> {
    let nodes = job.nodes.iter().filter_map(|node| outcome.nodes.get(node.0 as usize));
    let largest = nodes.map(|node| node.gpus.0).max()?;
    measure::node_deviation(Nodes(count(job.nodes.len())), job.gpus, Gpus(largest))
}

fn group_deviation(outcome: &Outcome, sizes: &LeafSizes, job: &JobOutcome) -> Option<f64> {
    let leaf = |node: &NodeIndex| outcome.nodes.get(node.0 as usize)?.leaf.as_deref();
    let used = job.nodes.iter().map(leaf).collect::<Option<BTreeSet<&str>>>()?;
    measure::leaf_group_deviation(count(used.len()), job.gpus, sizes)
}

/// The GPUs of each leaf group.
fn leaf_sizes(outcome: &Outcome) -> LeafSizes {
    let mut sizes: BTreeMap<&str, Gpus> = BTreeMap::new();
    for node in &outcome.nodes {
        if let Some(leaf) = &node.leaf {
            *sizes.entry(leaf).or_default() += node.gpus;
        }
    }
    LeafSizes::of(sizes.into_values())
}

fn count(length: usize) -> u32 {
    // No cluster has more nodes than a u32 counts.
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::{NodeIndex, Sample};
    use common::time::{Span, Time};
    use common::unit::{GpuMilli, Gpus, Nodes};
    use trace::Node;

    pub fn node(name: &str, leaf: &str) -> Node {
        Node {
            name: name.to_owned(),
            gpus: Gpus(8),
            gpu_model: None,
            cpus: None,
            mem_mib: None,
            leaf: Some(leaf.to_owned()),
            spine: None,
            core: None,
        }
    }

    pub fn job(id: u64, times: [u64; 3], nodes: &[u32], gpus: u32) -> JobOutcome {
        let [submit, start, end] = times.map(|seconds| Time(seconds * 1000));
        JobOutcome {
            id,
            submit,
            start: Some(start),
            end: Some(end),
            run: end.since(start),
            walltime: Some(Span::from_seconds(3600)),
            nodes: nodes.iter().map(|node| NodeIndex(*node)).collect(),
            gpus: GpuMilli(gpus * 1000),
        }
    }

    /// Two nodes of 8 GPUs; job 1 has all of `a`, job 2 half of `b`, job 3 waits for both. Passes
    /// change something at 0 s, 50 s, 100 s and 150 s.
    pub fn two_nodes() -> Outcome {
        let mut outcome = Outcome {
            policy: "fifo".into(),
            placement: "first".into(),
            trace: "example".into(),
            nodes: vec![node("a", "l0"), node("b", "l1")],
            jobs: vec![
                job(1, [0, 0, 100], &[0], 8),
                job(2, [0, 0, 50], &[1], 4),
                job(3, [10, 100, 150], &[0, 1], 16),
            ],
            starts: 3,
            scheduler_cpu_seconds: 0.5,
            heatmap: crate::report::Heatmap::new(2),
            ..Outcome::default()
        };
        for (at, allocated, queue, broken, unusable, whole) in [
            (0, 12, 0, 1, 4, 0),
            (10, 12, 1, 1, 4, 0),
            (50, 8, 1, 0, 0, 1),
            (100, 16, 0, 0, 0, 0),
            (150, 0, 0, 0, 0, 2),
        ] {
            let sample = Sample {
                at: Time(at * 1000),
                allocated: GpuMilli(allocated * 1000),
                total: GpuMilli(16_000),
                free: GpuMilli((16 - allocated) * 1000),
                free_unusable_by_8: GpuMilli(unusable * 1000),
                queue_length: queue,
                nodes_with_gpus: Nodes(2),
                nodes_broken: Nodes(broken),
                nodes_whole_free: Nodes(whole),
                leaf_groups_whole_free: whole,
                ..Sample::default()
            };
            outcome.series.push(sample).unwrap();
        }
        for (node, gpus, from, to) in
            [(0, 8, 0, 100), (1, 4, 0, 50), (0, 8, 100, 150), (1, 8, 100, 150)]
        {
            let gpus = GpuMilli(gpus * 1000);
            outcome.heatmap.add([(NodeIndex(node), gpus)], Time(from * 1000), Time(to * 1000));
        }
        outcome
    }

    #[test]
    fn a_job_on_twice_the_nodes_it_needs_is_stretched_by_two() {
        let mut outcome = two_nodes();
        assert_eq!(Stretch::of(&outcome).dev_node, Some(1.0));
        outcome.jobs[1].nodes = vec![NodeIndex(0), NodeIndex(1)];
        let stretch = Stretch::of(&outcome);
        assert_eq!(stretch.dev_node, Some((1.0 + 2.0 + 1.0) / 3.0));
        assert_eq!(stretch.dev_group, Some((1.0 + 2.0 + 1.0) / 3.0), "each node its own leaf");
        assert!((stretch.time_ratio.unwrap() - (1.0 + 1.15 + 1.0) / 3.0).abs() < 1e-12);
    }

    #[test]
    fn one_gpu_has_no_choice_and_no_leaf_no_group() {
        let mut outcome = two_nodes();
        outcome.jobs.truncate(1);
        outcome.nodes[0].leaf = None;
        assert_eq!(Stretch::of(&outcome).dev_group, None);
        outcome.jobs[0].gpus = GpuMilli(1000);
        let stretch = Stretch::of(&outcome);
        assert_eq!((stretch.dev_node, stretch.time_ratio), (None, None));
    }
}
