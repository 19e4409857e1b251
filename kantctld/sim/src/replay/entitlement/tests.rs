//! Tests of how long queues are below their quotas.

use super::*;

/// 16 GPUs; a has a quota of 8, b of 4 and a limit of 10, c no quota but twice the weight.
fn entitlements() -> Entitlements {
    let queue = |name: &str, quota: Option<u32>, weight: u32| {
        let name = QueueName::new(name).unwrap();
        let mut queue = Queue { weight, ..Queue::with_defaults(name) };
        queue.quota.amounts.gpus_any = quota.map(common::unit::Gpus);
        queue
    };
    let mut queues = vec![queue("a", Some(8), 1), queue("b", Some(4), 1), queue("c", None, 2)];
    queues[1].quota.at_most.gpus_any = Some(common::unit::Gpus(10));
    let policy = Policy { queues, ..Policy::default() };
    Entitlements::of(&policy, GpuMilli(16_000)).unwrap()
}

fn name(text: &str) -> QueueName {
    QueueName::new(text).unwrap()
}

#[test]
fn the_fair_share_is_the_quota_and_a_part_of_the_rest_by_weight() {
    let mut entitlements = entitlements();
    entitlements.add_held(&name("b"), GpuMilli(10_000));
    entitlements.add_waiting(&name("b"), GpuMilli(6000));
    entitlements.add_waiting(&name("c"), GpuMilli(16_000));
    let fair_shares = entitlements.fair_shares();
    // b has a quota of 4, and a third of the other 12.
    assert_eq!(fair_shares, [0.0, 8000.0, 8000.0]);
    entitlements.add_waiting(&name("a"), GpuMilli(9000));
    // a has a quota of 8 and b of 4; a fourth of the other 4 is all that a still asks for.
    assert_eq!(entitlements.fair_shares(), [9000.0, 5000.0, 2000.0]);
}

#[test]
fn a_queue_is_below_while_a_job_waits_that_is_within_its_quota() {
    let mut entitlements = entitlements();
    let mut sample = Sample::default();
    entitlements.add_held(&name("b"), GpuMilli(10_000));
    entitlements.add_held(&name("c"), GpuMilli(6000));
    // A job beyond the quota does not count.
    entitlements.add_waiting(&name("a"), GpuMilli(9000));
    entitlements.record_pass(Time(0), &mut sample);
    entitlements.add_waiting(&name("a"), GpuMilli(2000));
    entitlements.record_pass(Time(10), &mut sample);
    entitlements.record_pass(Time(40), &mut sample);
    entitlements.remove_waiting(&name("a"), GpuMilli(2000));
    entitlements.add_waiting(&name("a"), GpuMilli(1000));
    entitlements.record_pass(Time(50), &mut sample);
    entitlements.remove_waiting(&name("a"), GpuMilli(1000));
    entitlements.record_pass(Time(55), &mut sample);
    let outcomes = entitlements.outcomes(Time(90));
    assert_eq!((outcomes[0].below.0, outcomes[0].below_by_one.0), (45, 5));
    assert_eq!((outcomes[1].below.0, outcomes[2].below.0), (0, 0));
}

#[test]
fn it_is_even_where_all_hold_the_same_part_of_their_fair_shares() {
    assert_eq!(jain(&[(4.0, 8.0), (2.0, 4.0)]), Some(1.0));
    assert_eq!(jain(&[(8.0, 8.0), (0.0, 4.0)]), Some(0.5));
    assert_eq!(jain(&[(8.0, 8.0)]), None);
}
