//! E-Spread: replicas of services are placed as far from each other as possible within their zone,
//! so that the failure of one leaf or node affects few of them.
//!
//! Source: Kant (arXiv 2510.01256) page 9. Which jobs go into the zone, and what happens when it is
//! full, is in `shape::Shape::sides`.
//! Reads: GPUs in use under the leaf and on the node, within the zone only.
//! Knobs: `zone` and `zone_overflow` of a queue.
//!
//! Example. Zone z has nodes a and b under leafs l and m; node c is outside. Services 1 and 2 ask
//! for a GPU each: a, then b under the other leaf. Job 3, which is no service, asks for one: c.

use crate::model::cluster::NodeIndex;
use crate::place::score::{Key, Scorer};

pub(crate) fn key(scorer: &Scorer<'_>, at: NodeIndex) -> Key {
    let free = scorer.search.trial.free(at);
    let all = free.gpu_milli_capacity();
    let leaf = scorer.leafs().of_group(scorer.search, scorer.search.cluster().node(at).group);
    // The fraction in use, in millionths, since leafs and nodes differ in size.
    let share = |used: u32, all: u32| u64::from(used) * 1_000_000 / u64::from(all.max(1));
    [
        leaf.map_or(0, |leaf| share(leaf.milli_used, leaf.milli)),
        share(all - free.milli_sum(), all),
        0,
        0,
        0,
    ]
}

#[cfg(test)]
mod tests {
    use crate::testing::{
        gpu_node, gpu_request, placed, set_leaf_groups, set_zone, snapshot, waiting,
    };

    #[test]
    fn the_example() {
        let mut snapshot = snapshot(["a", "b", "c"].map(|name| gpu_node(name, 8)).to_vec());
        set_leaf_groups(&mut snapshot, &[("l", "a"), ("m", "b"), ("n", "c")]);
        set_zone(&mut snapshot, "z", &["a", "b"]);
        for job in 1..=3 {
            let mut one = waiting(job, gpu_request(1), 10);
            one.service = job < 3;
            snapshot.set_waiting(one);
        }
        assert_eq!(placed(&snapshot), ["1 a:0", "2 b:0", "3 c:0"]);
    }
}
