//! Freeness: for how many steps a replica's batch can run before its memory is full.
//!
//! Source: Sun et al., "Llumnix: Dynamic Scheduling for Large Language Model Serving" (OSDI 2024),
//! on virtual usage: F = (M - sum of V) / B, with its rules for V of a request that waits, that has
//! high priority, and of an instance that is drained.

use common::autoscale::{Freeness, Tokens};

/// The memory of one replica for keys and values, in tokens, and its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KvLoad {
    /// Tokens that fit into the memory (M).
    pub capacity: Tokens,
    /// Tokens of the requests that run.
    pub used: Tokens,
    /// Requests that run (B).
    pub running: u32,
    /// Tokens that the first waiting request needs; `None` if none waits. It counts as if it ran,
    /// so that a replica with a queue is less free than one without.
    pub head: Option<Tokens>,
    /// Tokens that are kept free for requests of high priority that run there.
    pub headroom: Tokens,
    /// Whether the replica is to be empty: its virtual usage is infinite.
    pub draining: bool,
}

/// The freeness of one replica. An idle one has a batch of one for this purpose.
#[must_use]
pub fn freeness(load: &KvLoad) -> Freeness {
    if load.draining {
        return Freeness::DRAINING;
    }
    let head = load.head.unwrap_or_default();
    let virtual_usage = i128::from(load.used.0) + i128::from(head.0) + i128::from(load.headroom.0);
    let batch = i128::from(load.running) + i128::from(load.head.is_some());
    let free = (i128::from(load.capacity.0) - virtual_usage) / batch.max(1);
    // The least value stands for draining alone.
    let least = i128::from(i64::MIN) + 1;
    Freeness(i64::try_from(free.max(least)).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(used: u32, running: u32, head: Option<u32>) -> KvLoad {
        let (capacity, used) = (Tokens::whole(1000), Tokens::whole(used));
        KvLoad { capacity, used, running, head: head.map(Tokens::whole), ..KvLoad::default() }
    }

    #[test]
    fn the_batch_shares_the_free_memory() {
        assert_eq!(freeness(&load(600, 8, None)), Freeness::from_whole(50));
        assert_eq!(freeness(&load(0, 0, None)), Freeness::from_whole(1000), "idle");
    }

    #[test]
    fn the_head_of_the_queue_counts_as_if_it_ran() {
        assert_eq!(freeness(&load(600, 7, Some(80))), Freeness::from_whole(40));
        assert_eq!(
            freeness(&load(900, 9, Some(300))),
            Freeness::from_whole(-20),
            "it does not fit"
        );
    }

    #[test]
    fn headroom_counts_as_used() {
        let load = KvLoad { headroom: Tokens::whole(200), ..load(600, 8, None) };
        assert_eq!(freeness(&load), Freeness::from_whole(25));
    }

    #[test]
    fn a_draining_replica_is_less_free_than_any_other() {
        let draining = KvLoad { draining: true, ..load(0, 0, None) };
        let full = KvLoad { capacity: Tokens(0), used: Tokens(u64::MAX), ..load(0, 0, None) };
        assert!(freeness(&draining) < freeness(&full));
    }
}
