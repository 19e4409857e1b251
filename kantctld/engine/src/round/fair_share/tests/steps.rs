//! Counts of steps: what a round does for each waiting queue.

use super::{fair, queue};
use crate::round::fair_share::accounts::Accounts;
use crate::round::fair_share::line::Line;
use crate::round::fair_share::round::{FairRound, Passes};
use crate::round::planner::RoundState;
use crate::round::preempt::tests::of;
use crate::testing::gpu_request;
use common::id::QueueName;
use common::policy::queue::Queue;
use std::collections::BTreeMap;

/// How often queues are ranked in one pass, when a job waits in each of these many queues below
/// one, and another queue holds all nodes.
fn ranked(waiting: u32) -> usize {
    let below = |at: u32| Queue {
        parent: Some(QueueName::new("top").unwrap()),
        ..queue(&format!("q{at}"))
    };
    let queues = [queue("busy"), queue("top")].into_iter().chain((0..waiting).map(below));
    let mut world = fair(queues.collect());
    world.submit(of(1, gpu_request(8), "busy", "low"));
    world.submit(of(2, gpu_request(8), "busy", "low"));
    assert_eq!(world.round().len(), 2);
    for at in 0..waiting {
        world.submit(of(3 + at, gpu_request(8), &format!("q{at}"), "low"));
    }
    world.snapshot.prepare_for_round(world.now);
    let turns = BTreeMap::new();
    let mut state = RoundState::new(&world.snapshot, world.now);
    let accounts = Accounts::of(&mut state);
    let lacking = vec![None; accounts.classes().len()];
    let mut round = FairRound {
        state,
        accounts,
        lacking,
        extra: BTreeMap::new(),
        moves_left: 0,
        turns: &turns,
        passes: Passes::ALL,
    };
    let mut line = Line::new(&round.state, &round.accounts, &turns, |_| true);
    round.place_all(&mut line);
    let lacking = round.lacking.iter().flatten().count();
    assert_eq!(lacking, waiting as usize, "each has lacked room");
    line.ranks.set
}

#[test]
fn once_nothing_is_free_no_queue_is_ranked_again() {
    for waiting in [10, 100] {
        // Each of them and the queue above, and both again after the first turn.
        assert_eq!(ranked(waiting), waiting as usize + 3);
    }
}
