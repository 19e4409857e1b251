//! How far jobs were spread beyond need: the part of JTTED that needs no model of training time.
//! Source: reference definitions of JTTED, `dev_node` and `dev_group`. Never judges jobs of one GPU
//! or less, which have no choice.

use super::{JobOutcome, Outcome};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Means over the jobs of more than one GPU that started; nothing where there are none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Stretch {
    /// Nodes used, of the fewest that have as many GPUs: 1 is best.
    pub dev_node: Option<f64>,
    /// Leaf groups used, of the fewest that have as many GPUs: 1 is best; nothing in a cluster
    /// without leaf groups.
    pub dev_group: Option<f64>,
}

impl Stretch {
    /// Of one replay.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        let groups = Groups::of(outcome);
        let wide = || outcome.jobs.iter().filter(|job| job.gpus.0 > 1000 && !job.nodes.is_empty());
        Self {
            dev_node: mean(wide().filter_map(|job| dev_node(outcome, job))),
            dev_group: mean(wide().filter_map(|job| groups.dev_group(outcome, job))),
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// Nodes used, of the fewest nodes of the kind it got that have as many GPUs.
fn dev_node(outcome: &Outcome, job: &JobOutcome) -> Option<f64> {
    let nodes = job.nodes.iter().filter_map(|node| outcome.nodes.get(node.0 as usize));
    let largest = nodes.map(|node| node.gpus.0).max().filter(|gpus| *gpus > 0)?;
    let fewest = job.gpus.0.div_ceil(1000).div_ceil(largest);
    Some(count(job.nodes.len()) / f64::from(fewest))
}

/// How many GPUs the largest leaf groups have together.
struct Groups {
    /// At `n - 1`: the GPUs of the `n` largest groups.
    of_largest: Vec<u64>,
}

impl Groups {
    fn of(outcome: &Outcome) -> Self {
        let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
        for node in &outcome.nodes {
            if let Some(leaf) = &node.leaf {
                *sizes.entry(leaf).or_default() += u64::from(node.gpus.0);
            }
        }
        let mut of_largest: Vec<u64> = sizes.into_values().collect();
        of_largest.sort_unstable_by(|a, b| b.cmp(a));
        let mut sum = 0;
        for size in &mut of_largest {
            sum += *size;
            *size = sum;
        }
        Self { of_largest }
    }

    fn dev_group(&self, outcome: &Outcome, job: &JobOutcome) -> Option<f64> {
        let leaf = |node: &super::NodeIndex| outcome.nodes.get(node.0 as usize)?.leaf.as_deref();
        let used = job.nodes.iter().map(leaf).collect::<Option<BTreeSet<&str>>>()?;
        let wanted = u64::from(job.gpus.0.div_ceil(1000));
        let fewest = self.of_largest.partition_point(|gpus| *gpus < wanted) + 1;
        (fewest <= self.of_largest.len()).then(|| count(used.len()) / count(fewest))
    }
}

fn count(length: usize) -> f64 {
    // No cluster has more nodes than a u32 counts.
    f64::from(u32::try_from(length).unwrap_or(u32::MAX))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::{NodeIndex, Sample};
    use crate::trace::Node;
    use common::time::{Span, Time};
    use common::unit::{GpuMilli, Gpus, Nodes};

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

    /// Two nodes of 8 GPUs; job 1 has all of `a`, job 2 half of `b`, job 3 waits for both. At 0 s,
    /// 50 s, 100 s and 150 s a pass changes something.
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
            };
            outcome.series.push(sample).unwrap();
        }
        for (node, gpus, from, to) in
            [(0, 8, 0, 100), (1, 4, 0, 50), (0, 8, 100, 150), (1, 8, 100, 150)]
        {
            let gpus = GpuMilli(gpus * 1000);
            outcome.heatmap.add(NodeIndex(node), gpus, Time(from * 1000), Time(to * 1000));
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
    }

    #[test]
    fn one_gpu_has_no_choice_and_no_leaf_no_group() {
        let mut outcome = two_nodes();
        outcome.jobs.truncate(1);
        outcome.nodes[0].leaf = None;
        assert_eq!(Stretch::of(&outcome).dev_group, None);
        outcome.jobs[0].gpus = GpuMilli(1000);
        assert_eq!(Stretch::of(&outcome), Stretch::default());
    }
}
