//! First fit: the first nodes by name that hold the job. The baseline of all comparisons.
//!
//! Source: man slurm.conf, SelectTypeParameters CR_LLN unset: nodes in their order.
//! Reads: positions only.
//! Knobs: none.
//!
//! Example. Nodes a and b, 8 free GPUs each. Job 1 asks for 2 GPUs: a. Job 2 asks for 8: b. Job 3
//! asks for 1: a.

use crate::place::score::Key;

/// All nodes are equally good; the position decides.
pub(crate) const KEY: Key = [0; 5];

#[cfg(test)]
mod tests {
    use crate::testing::{gpu_node, gpu_request, placed, set_placement_policy, snapshot, waiting};
    use common::policy::Placement;

    #[test]
    fn the_example() {
        let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
        set_placement_policy(&mut snapshot, Placement::First);
        for (job, gpus) in [(1, 2), (2, 8), (3, 1)] {
            snapshot.set_waiting(waiting(job, gpu_request(gpus), 10));
        }
        assert_eq!(placed(&snapshot), ["1 a:0-1", "2 b:0-7", "3 a:2"]);
    }
}
