//! Random histories: no job is preempted without need, and preemptions end. Places are checked by
//! the judge.

use super::{World, high, low, of, owed, queue};
use crate::Decision;
use crate::testing::{gpu_node, gpu_request};
use common::id::JobKey;
use common::policy::queue::Queue;
use common::policy::{Behind, Order};
use common::time::Span;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// One job: GPUs, queue, QoS, minutes.
type Ask = (u32, bool, bool, u64);

/// Two queues with these quotas of GPUs.
fn queues(owes: [u32; 2], behind: Behind, order: Order) -> Vec<Queue> {
    let mut first = Queue { quota: owed("q", owes[0]).quota, behind, order, ..queue("q") };
    first.backfill.head_timeout = Some(Span::from_minutes(10));
    let mut second = Queue { quota: owed("y", owes[1]).quota, behind, ..queue("y") };
    second.default = false;
    vec![first, second]
}

fn submit(world: &mut World, number: u32, (gpus, is_y, is_high, minutes): Ask) {
    let plain = if is_high { high(number, gpus) } else { low(number, gpus) };
    let mut job = if is_y {
        of(number, gpu_request(gpus), "y", if is_high { "high" } else { "low" })
    } else {
        plain
    };
    job.time_limit = Some(Span::from_minutes(minutes));
    world.submit(job);
}

/// Ends victims in some order, one per round, until none are left. Fails if that takes too many
/// rounds.
fn settle(world: &mut World, minute: &mut u64) -> Result<(), TestCaseError> {
    let mut yielded: BTreeMap<JobKey, u32> = BTreeMap::new();
    for _ in 0..400 {
        *minute += 1;
        world.at(*minute);
        let busy: BTreeSet<JobKey> = world.snapshot.ending.values().copied().flatten().collect();
        let decided = world.round();
        for decision in &world.round.decisions {
            if let Decision::Preempt { key, by, .. } = decision {
                prop_assert!(!busy.contains(by), "job {by} preempts again: {decided:?}");
                *yielded.entry(*key).or_default() += 1;
            }
        }
        let going: Vec<JobKey> = world.snapshot.ending.keys().copied().collect();
        match going.get(usize::try_from(*minute).unwrap() % going.len().max(1)) {
            Some(key) => {
                world.gone(key.job.0);
            }
            None if decided.is_empty() => {
                prop_assert!(yielded.values().all(|times| *times <= 20), "{yielded:?}");
                return Ok(());
            }
            None => {}
        }
    }
    Err(TestCaseError::fail(format!("no rest: {yielded:?}")))
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    prop::collection::vec((1_u32..=8, any::<bool>(), any::<bool>(), 500_u64..2_000), 1..14)
}

fn behind() -> impl Strategy<Value = (Behind, Order)> {
    let behind = prop_oneof![Just(Behind::Pass), Just(Behind::Wait), Just(Behind::Backfill)];
    (behind, prop_oneof![Just(Order::Fifo), Just(Order::Multifactor)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn without_arrivals_everything_comes_to_rest(
        asks in asks(),
        later in asks(),
        (behind, order) in behind(),
    ) {
        let nodes = vec![gpu_node("a", 8), gpu_node("b", 8)];
        let mut world = World::new(nodes, queues([10, 6], behind, order));
        let mut minute = 0;
        for (number, ask) in (1..).zip(asks) {
            submit(&mut world, number, ask);
        }
        settle(&mut world, &mut minute)?;
        for (number, ask) in (100..).zip(later) {
            submit(&mut world, number, ask);
        }
        settle(&mut world, &mut minute)?;
    }

    #[test]
    fn no_job_is_preempted_without_need(running in asks(), ask in (1_u32..=8, any::<bool>())) {
        let nodes = vec![gpu_node("a", 8), gpu_node("b", 8)];
        let mut queues = queues([0, 16], Behind::Pass, Order::Fifo);
        queues[0].quota = common::policy::Quota::default();
        let mut world = World::new(nodes, queues);
        for (number, (gpus, is_y, _, minutes)) in (1..).zip(running) {
            submit(&mut world, number, (gpus, is_y, false, minutes));
        }
        settle(&mut world, &mut 0)?;
        let waiting: Vec<JobKey> = world.snapshot.all_waiting().map(|job| job.key).collect();
        waiting.into_iter().for_each(|key| world.snapshot.remove_job(key));
        world.at(500);
        submit(&mut world, 99, (ask.0, ask.1, true, 600));
        let victims = world.round().iter().filter(|line| line.contains(" for ")).count();
        let ending: Vec<JobKey> = world.snapshot.ending.keys().copied().collect();
        prop_assert_eq!(victims, ending.len());
        for spared in &ending {
            // If this one stayed, the job would not start.
            let mut fewer = world.snapshot.clone();
            ending.iter().filter(|key| *key != spared).for_each(|key| fewer.remove_job(*key));
            fewer.prepare_for_round(world.now);
            let round = crate::schedule(&fewer, world.now);
            prop_assert!(round.decisions.is_empty(), "{spared} of {ending:?}: {round:?}");
        }
        for key in ending {
            world.snapshot.remove_job(key);
        }
        let decided = world.round();
        let starts = decided.iter().any(|line| line.starts_with("99 on"));
        prop_assert!(victims == 0 || starts, "{decided:?}");
    }
}
