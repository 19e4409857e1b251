//! A job runs on nodes of its queue, of those it names, and not on those it excludes.
//!
//! Source: man slurm.conf, PartitionName Nodes; man sbatch, `--nodelist`, `--exclude`. Unlike
//! sbatch, `--nodelist` names those a job may have, not those it must have.
//! Reads: names of nodes, and which kinds of GPU they have. Never: what is free.
//! Knobs: `nodes` of a queue; `--nodelist` and `--exclude` of a job.
//!
//! Example. Nodes a and b; queue q has both, queue r has b. Job 1 in r runs on b. Job 2 in q with
//! `--exclude=b` runs on a. Job 3 in r with `--nodelist=a` never runs.

use crate::cluster::{Cluster, NodeIndex};
use common::id::NodeName;
use common::queue::Queue;
use common::resource::Request;
use std::collections::BTreeSet;

/// The nodes a job may have, rising.
pub(crate) fn candidates(
    cluster: &Cluster<'_>,
    queue: &Queue,
    request: &Request,
) -> Vec<NodeIndex> {
    let has_kind = |at: &NodeIndex| {
        let gpus = &cluster.node(*at).inventory.gpus;
        request.gpu_kind.as_ref().is_none_or(|kind| gpus.iter().any(|gpu| gpu.kind == *kind))
    };
    let found = |names: &[NodeName]| -> BTreeSet<NodeIndex> {
        names.iter().filter_map(|name| cluster.find(name)).collect()
    };
    let (of_queue, only) = (found(&queue.nodes), found(&request.only_nodes));
    let excluded = found(&request.not_nodes);
    let may_have = |at: &NodeIndex| {
        (queue.nodes.is_empty() || of_queue.contains(at))
            && (request.only_nodes.is_empty() || only.contains(at))
            && !excluded.contains(at)
            && has_kind(at)
    };
    cluster.indices().filter(may_have).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cpu_node, gpu_node, name, queue, request, snapshot};
    use common::gpu::GpuKind;

    #[test]
    fn the_example() {
        let snapshot = snapshot(vec![cpu_node("a", 4), gpu_node("b", 2)]);
        let cluster = Cluster::of(&snapshot);
        let (q, mut r) = (queue("q"), queue("r"));
        r.nodes = vec![name("b"), name("unheard-of")];
        let mut job = request(1, 1);
        assert_eq!(candidates(&cluster, &r, &job), [NodeIndex(1)]);
        job.not_nodes = vec![name("b")];
        assert_eq!(candidates(&cluster, &q, &job), [NodeIndex(0)]);
        job.not_nodes = vec![];
        job.only_nodes = vec![name("a")];
        assert_eq!(candidates(&cluster, &r, &job), []);
        job.only_nodes = vec![];
        job.gpu_kind = Some(GpuKind("h100".to_owned()));
        assert_eq!(candidates(&cluster, &q, &job), [NodeIndex(1)]);
    }
}
