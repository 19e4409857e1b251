//! Nodes that a job avoids, if it can: those with other jobs of its group on them or near them, and
//! those without its data.
//!
//! Source: ours. For groups, the aim is that of Kubernetes' pod topology spread constraints with
//! `ScheduleAnyway`: what fails together holds as few replicas of a role as possible.
//! Reads: the jobs of the group on each node, leafs, and the data that nodes have.
//! Knobs: `spread` of a role, `--data` of a job.
//!
//! A job goes where the fewest of its group are, and of these nodes to one that has the most of its
//! data; a gang goes where no node is worse than needed. No job gets more nodes for this, and none
//! waits. A node whose leaf is not known counts as a leaf of its own.
//!
//! Example. Leaf l has nodes a and b, leaf m has c. Job 1 of a group that keeps off leafs asks for
//! a. Job 2 of it gets c. Job 3 gets b: one is under each leaf, and b itself has none.
//!
//! Example. Node c has the data set imagenet. A job with `--data=imagenet` gets c. A second one for
//! which c has no room gets a, which has other jobs, as it would without the data.

use crate::model::cluster::NodeIndex;
use crate::place::node_search::NodeSearch;
use common::resource::Spread;
use common::topology::Level;
use common::unit::Tasks;
use std::collections::BTreeMap;

/// How many jobs of the group are near a node and on it, and how much of the job's data it lacks,
/// compared from the left. Nodes with lower ranks are better.
type Rank = (u32, u32, u32);

/// At most this many ranks are tried before any place is as good as another.
const TRIES_MAX: usize = 8;

/// Whether the job prefers some nodes to others.
pub(crate) fn has_any(search: &NodeSearch<'_>) -> bool {
    search.shape.lacks.is_some() || search.shape.demand.request.spread().is_some()
}

/// The nodes to avoid, by position, in the order in which this is tried. Empty: there is nothing to
/// avoid.
pub(crate) fn avoided(search: &NodeSearch<'_>) -> Vec<Vec<bool>> {
    let ranks = ranks(search);
    let demand = &search.shape.demand;
    let (needed, least) = match search.shape.node_count() {
        Some(nodes) => (nodes.0.max(1), demand.even_part(nodes, nodes.0.max(1) - 1)),
        None => (1, demand.part(Tasks(1))),
    };
    let mut with_room: Vec<Rank> =
        search.all_that_hold(least).map(|node| ranks[node.at()]).collect();
    with_room.sort_unstable();
    // With fewer nodes than it needs, it cannot start.
    let mut kinds: Vec<Rank> = with_room.into_iter().skip(needed as usize - 1).collect();
    kinds.dedup();
    // With the highest rank, nothing is avoided.
    kinds.pop();
    let is_off = |at: usize| search.avoid.get(at).copied().unwrap_or(false);
    let beyond = |most: Rank| {
        ranks.iter().enumerate().map(|(at, rank)| *rank > most || is_off(at)).collect()
    };
    kinds.into_iter().take(TRIES_MAX).map(beyond).collect()
}

/// The rank of each node, by position.
fn ranks(search: &NodeSearch<'_>) -> Vec<Rank> {
    let count = search.cluster().len();
    let group_counts = match search.shape.demand.request.spread() {
        Some((group, spread)) => group_counts(search, group, spread),
        None => vec![(0, 0); count],
    };
    let lacks = search.shape.lacks.as_deref();
    let lacks = (0..count).map(|at| lacks.map_or(0, |lacks| lacks[at]));
    group_counts.into_iter().zip(lacks).map(|((near, own), lacks)| (near, own, lacks)).collect()
}

/// How many jobs of the group are near each node and on it, by position.
fn group_counts(search: &NodeSearch<'_>, group: &str, spread: Spread) -> Vec<(u32, u32)> {
    let cluster = search.cluster();
    let nodes = (0..).map(NodeIndex).take(cluster.len());
    let own: Vec<u32> = nodes.map(|at| search.trial.jobs_of_group(at, group)).collect();
    if spread == Spread::Node {
        return own.into_iter().map(|own| (own, own)).collect();
    }
    let leaf = |at: usize| {
        cluster
            .switches()
            .switch_of_node(Level::Leaf, NodeIndex(u32::try_from(at).unwrap_or(u32::MAX)))
    };
    let mut under = BTreeMap::new();
    for (at, own) in own.iter().enumerate().filter(|(_, own)| **own > 0) {
        leaf(at).into_iter().for_each(|leaf| *under.entry(leaf).or_insert(0) += *own);
    }
    let near = |at: usize, own: u32| match leaf(at) {
        Some(leaf) => under.get(&leaf).copied().unwrap_or(0),
        None => own,
    };
    own.iter().enumerate().map(|(at, own)| (near(at, *own), *own)).collect()
}

#[cfg(test)]
mod tests {
    use crate::model::job::WaitingJob;
    use crate::testing::{gpu_node, gpu_request, name, placed, set_leaf_groups, snapshot, waiting};
    use common::resource::{Apart, Request, Spread};
    use common::unit::{Nodes, Tasks};
    use std::sync::Arc;

    /// A job on this many nodes whose group keeps apart.
    fn apart(job: u32, nodes: u32, gpus: u32, spread: Option<Spread>) -> WaitingJob {
        let mut request = gpu_request(gpus);
        (request.nodes, request.tasks) = (Some(Nodes(nodes)), Tasks(nodes));
        request.apart = Some(Apart { group: "chat".to_owned(), per_node_max: None, spread });
        waiting(job, request, 10)
    }

    fn places(names: &[&str], leafs: &[(&str, &str)], jobs: Vec<WaitingJob>) -> Vec<String> {
        let mut snapshot = snapshot(names.iter().map(|name| gpu_node(name, 8)).collect());
        set_leaf_groups(&mut snapshot, leafs);
        jobs.into_iter().for_each(|job| snapshot.set_waiting(job));
        placed(&snapshot)
    }

    #[test]
    fn the_example() {
        let leafs = [("l", "a b"), ("m", "c")];
        let one = |job| apart(job, 1, 1, Some(Spread::Leaf));
        let mut jobs = [1, 2, 3].map(one);
        let first = Request { only_nodes: vec![name("a")], ..Request::clone(&jobs[0].request) };
        jobs[0].request = first.into();
        let found = places(&["a", "b", "c"], &leafs, jobs.to_vec());
        assert_eq!(found, ["1 a:0", "2 c:0", "3 b:0"]);
    }

    #[test]
    fn jobs_keep_off_nodes_of_their_group_and_start_beside_it_if_there_is_no_other_place() {
        for spread in [Spread::Node, Spread::Leaf] {
            let one = |job| apart(job, 1, 1, Some(spread));
            let found = places(&["a", "b"], &[], [1, 2, 3, 4].map(one).to_vec());
            assert_eq!(found, ["1 a:0", "2 b:0", "3 a:1", "4 b:1"]);
        }
        let one = |job| apart(job, 1, 1, None);
        assert_eq!(places(&["a", "b"], &[], [1, 2].map(one).to_vec()), ["1 a:0", "2 a:1"]);
    }

    #[test]
    fn a_gang_keeps_off_leafs_with_another_gang_of_its_group() {
        let leafs = [("l", "a b c"), ("m", "d e f g")];
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let two = |spread| move |job| apart(job, 2, 4, spread);
        let near = places(&names, &leafs, [1, 2].map(two(None)).to_vec());
        assert_eq!(near, ["1 a:0-3 b:0-3", "2 a:4-7 b:4-7"]);
        let apart = places(&names, &leafs, [1, 2].map(two(Some(Spread::Leaf))).to_vec());
        assert_eq!(apart, ["1 a:0-3 b:0-3", "2 d:0-3 e:0-3"]);
        // With e alone it does not fit, so nodes with one other are as good as e.
        let three = [1, 2, 3].map(two(Some(Spread::Node))).to_vec();
        let third = places(&["a", "b", "c", "d", "e"], &[], three).pop();
        assert_eq!(third.as_deref(), Some("3 a:4-7 b:4-7"));
    }

    /// The places of jobs with this data, on nodes of 8 GPUs with the data of `has`.
    fn places_by_data(has: &[(&str, &str)], jobs: Vec<WaitingJob>) -> Vec<String> {
        let names =
            |text: &str| text.split_whitespace().map(|name| name.parse().unwrap()).collect();
        let nodes = has.iter().map(|(name, data)| {
            let mut node = gpu_node(name, 8);
            node.data = names(data);
            node
        });
        let mut snapshot = snapshot(nodes.collect());
        jobs.into_iter().for_each(|job| snapshot.set_waiting(job));
        placed(&snapshot)
    }

    fn with_data(mut job: WaitingJob, data: &[&str]) -> WaitingJob {
        let data = data.iter().map(|name| name.parse().unwrap()).collect();
        job.request = Arc::new(Request { data, ..Request::clone(&job.request) });
        job
    }

    #[test]
    fn the_example_of_data() {
        let one = |job, gpus| waiting(job, gpu_request(gpus), 10);
        let jobs = vec![
            one(1, 1),
            with_data(one(2, 8), &["imagenet"]),
            with_data(one(3, 1), &["imagenet"]),
        ];
        let has = [("a", ""), ("b", ""), ("c", "imagenet")];
        assert_eq!(places_by_data(&has, jobs), ["1 a:0", "2 c:0-7", "3 a:1"]);
    }

    #[test]
    fn more_of_the_data_is_better_and_a_gang_has_no_node_with_less_than_needed() {
        let has = [("a", "y"), ("b", ""), ("c", "x"), ("d", "x y"), ("e", "w x y z")];
        let gang = |job, nodes| with_data(apart(job, nodes, 8, None), &["x", "y"]);
        assert_eq!(places_by_data(&has, vec![gang(1, 1)]), ["1 d:0-7"]);
        assert_eq!(places_by_data(&has, vec![gang(1, 2)]), ["1 d:0-7 e:0-7"]);
        let three = places_by_data(&has, vec![gang(1, 3)]);
        assert!(!three[0].contains("b:"), "{three:?}");
        assert_eq!(places_by_data(&has, vec![gang(1, 5)]).len(), 1);
    }

    #[test]
    fn a_job_gets_no_more_nodes_for_its_data() {
        let tasks = |gpus: u32| Request {
            tasks: Tasks(2),
            gpus: Some(common::resource::GpuRequest::PerTask(common::unit::Gpus(gpus))),
            ..gpu_request(gpus)
        };
        let job = with_data(waiting(1, tasks(5), 10), &["x"]);
        assert_eq!(places_by_data(&[("a", ""), ("b", "x"), ("c", "x")], vec![job]).len(), 1);
        let on = |job, node| {
            let only_nodes = vec![name(node)];
            waiting(job, Request { only_nodes, ..gpu_request(4) }, 10)
        };
        let job = with_data(waiting(3, tasks(4), 10), &["x"]);
        let jobs = vec![on(1, "b"), on(2, "c"), job];
        let found = places_by_data(&[("a", ""), ("b", "x"), ("c", "x")], jobs);
        assert_eq!(found, ["1 b:0-3", "2 c:0-3", "3 a:0-7"]);
    }

    #[test]
    fn of_the_nodes_with_the_fewest_of_the_group_one_with_the_data_is_chosen() {
        let replica = |job| with_data(apart(job, 1, 1, Some(Spread::Node)), &["model"]);
        let has = [("a", ""), ("b", "model"), ("c", "model")];
        let found = places_by_data(&has, [1, 2, 3].map(replica).to_vec());
        assert_eq!(found, ["1 b:0", "2 c:0", "3 a:0"]);
    }
}
