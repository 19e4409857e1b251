//! Forecasts compared with what then happens.

use super::*;
use crate::model::job::WaitingJob;
use crate::testing::{
    booking, change_policy, gpu_node, gpu_request, key, run, share, snapshot, use_gpus, waiting,
};
use common::id::GpuIndex;
use common::policy::{Behind, Order};
use common::resource::Share;
use common::time::Span;
use common::unit::{Nodes, Tasks};
use proptest::prelude::*;

const NOW: Time = Time(3_600_000);

fn in_minutes(minutes: u64) -> Time {
    NOW + Span::from_minutes(minutes)
}

#[test]
fn who_is_on_its_way_out_is_gone_any_moment() {
    let mut snapshot = snapshot(vec![gpu_node("a", 8)]);
    change_policy(&mut snapshot, |policy| policy.queues[0].behind = Behind::Pass);
    use_gpus(&mut snapshot, "a", 8);
    let mut ending = RunningJob::clone(snapshot.running_job(key(900)).unwrap());
    ending.ending = true;
    snapshot.set_running(ending);
    snapshot.set_waiting(waiting(1, gpu_request(8), 10));
    assert_eq!(forecast(&snapshot, NOW, key(1)).expected_at, Some(NOW));
}

#[test]
fn a_job_that_is_held_or_that_never_fits_is_expected_at_no_time() {
    let mut snapshot = snapshot(vec![gpu_node("a", 8)]);
    let held = WaitingJob { held: true, ..waiting(1, gpu_request(1), 10) };
    snapshot.set_waiting(held);
    snapshot.set_waiting(waiting(2, gpu_request(9), 10));
    for job in [1, 2, 3] {
        assert_eq!(forecast(&snapshot, NOW, key(job)), Forecast::default());
    }
}

#[test]
fn a_begin_time_and_a_reservation_are_waited_for() {
    let mut snapshot = snapshot(vec![gpu_node("a", 8)]);
    let later = WaitingJob { begin_at: Some(in_minutes(7)), ..waiting(1, gpu_request(1), 10) };
    snapshot.set_waiting(later);
    assert_eq!(forecast(&snapshot, NOW, key(1)).expected_at, Some(in_minutes(7)));
    snapshot.set_reservations([booking("r", &["a"], in_minutes(5), in_minutes(30))]);
    assert_eq!(forecast(&snapshot, NOW, key(1)).expected_at, Some(in_minutes(30)));
}

#[test]
fn who_would_start_too_late_for_the_deadline_is_expected_at_no_time() {
    let mut snapshot = snapshot(vec![gpu_node("a", 8)]);
    let all = Share { gpus: (0..8).map(GpuIndex).collect(), ..share("a", "0-7") };
    run(&mut snapshot, 800, all, Some(in_minutes(60)));
    let deadline = Some(in_minutes(75));
    snapshot.set_waiting(WaitingJob { deadline, ..waiting(1, gpu_request(8), 30) });
    assert_eq!(forecast(&snapshot, NOW, key(1)).expected_at, None);
    snapshot.set_waiting(WaitingJob { deadline, ..waiting(1, gpu_request(8), 15) });
    assert_eq!(forecast(&snapshot, NOW, key(1)).expected_at, Some(in_minutes(60)));
}

#[test]
fn a_job_of_higher_priority_that_may_begin_at_the_promised_time_goes_first() {
    let mut snapshot = snapshot(["b", "c"].map(|name| gpu_node(name, 8)).to_vec());
    for (number, node) in [(800, "b"), (801, "c")] {
        let one = Share { gpus: [GpuIndex(0)].into(), ..share(node, "0") };
        run(&mut snapshot, number, one, Some(in_minutes(12)));
    }
    let mut request = gpu_request(8);
    (request.nodes, request.tasks) = (Some(Nodes(2)), Tasks(2));
    snapshot.set_waiting(WaitingJob { nice: 1, ..waiting(1, request, 1) });
    assert_eq!(forecast(&snapshot, NOW, key(1)).expected_at, Some(in_minutes(12)));
    let begin_at = Some(in_minutes(12));
    snapshot.set_waiting(WaitingJob { begin_at, ..waiting(2, gpu_request(1), 1) });
    assert_eq!(forecast(&snapshot, NOW, key(1)).expected_at, Some(in_minutes(13)));
}

#[test]
fn more_rounds_than_are_played_give_a_bound_from_below() {
    let mut snapshot = snapshot(vec![gpu_node("a", 8)]);
    change_policy(&mut snapshot, |policy| policy.queues[0].behind = Behind::Wait);
    let jobs = ROUNDS_MAX + 50;
    for job in 1..=jobs {
        snapshot.set_waiting(waiting(job, gpu_request(8), 1));
    }
    let last = forecast(&snapshot, NOW, key(jobs));
    assert!(last.bounded);
    let real = in_minutes(u64::from(jobs) - 1);
    assert!(last.expected_at.is_some_and(|at| at > NOW && at < real), "{last:?}");
    let near = forecast(&snapshot, NOW, key(40));
    assert_eq!((near.expected_at, near.bounded, near.after), (Some(in_minutes(39)), false, 39));
}

/// One waiting job of a random cluster.
#[derive(Debug, Clone)]
struct Ask {
    gpus: u32,
    nodes: u32,
    minutes: u64,
    begin: Option<u64>,
    nice: i32,
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let ask = (1_u32..=8, 1_u32..=3, 1_u64..90, proptest::option::weighted(0.1, 1_u64..60), 0..2);
    let ask = ask.prop_map(|(gpus, nodes, minutes, begin, nice)| Ask {
        gpus,
        nodes,
        minutes,
        begin,
        nice,
    });
    proptest::collection::vec(ask, 1..14)
}

fn cluster(asks: &[Ask], held: &[(u16, u64)], behind: Behind, order: Order) -> Snapshot {
    let names = ["a", "b", "c"];
    let mut snapshot = snapshot(names.iter().map(|name| gpu_node(name, 8)).collect());
    change_policy(&mut snapshot, |policy| {
        (policy.queues[0].behind, policy.queues[0].order) = (behind, order);
    });
    for (number, (name, (gpus, minutes))) in (800..).zip(names.iter().zip(held)) {
        if *gpus > 0 {
            let gpus_held = (0..*gpus).map(GpuIndex).collect();
            let share = Share { gpus: gpus_held, ..share(name, &format!("0-{}", gpus - 1)) };
            run(&mut snapshot, number, share, Some(in_minutes(*minutes)));
        }
    }
    for (job, ask) in (1..).zip(asks) {
        let mut request = gpu_request(ask.gpus);
        (request.nodes, request.tasks) = (Some(Nodes(ask.nodes)), Tasks(ask.nodes));
        let mut one = waiting(job, request, ask.minutes);
        one.begin_at = ask.begin.map(in_minutes);
        one.nice = ask.nice;
        snapshot.set_waiting(one);
    }
    snapshot
}

/// When each job starts: a round runs whenever a job ends or a time comes. `idle`: also now and
/// then without a reason, as in a controller.
fn history(mut snapshot: Snapshot, idle: bool) -> std::collections::BTreeMap<JobKey, Time> {
    let mut starts = std::collections::BTreeMap::new();
    let mut at = NOW;
    let gates: Vec<Time> = snapshot.all_waiting().filter_map(|job| job.earliest_start()).collect();
    while snapshot.waiting_count() > 0 {
        snapshot.prepare_for_round(at);
        let round = schedule(&snapshot, at);
        for decision in &round.decisions {
            if let Decision::Start { key, allocation, .. } = decision {
                starts.insert(*key, at);
                snapshot.start(*key, allocation.clone(), at);
            }
        }
        snapshot.set_planned_starts(round.planned_starts);
        let ends = snapshot.all_running().filter_map(|job| job.ends_by);
        let next = ends.chain(gates.iter().copied()).filter(|next| *next > at).min();
        let Some(next) = next else { break };
        let without_reason = Time(at.0 + 17 * 60_000 + 1);
        at = if idle { next.min(without_reason) } else { next };
        let over = snapshot.all_running().filter(|job| job.ends_by.is_some_and(|end| end <= at));
        let over: Vec<JobKey> = over.map(|job| job.key).collect();
        over.into_iter().for_each(|key| snapshot.remove_job(key));
    }
    starts
}

proptest! {
    #[test]
    fn jobs_start_when_they_were_expected_if_all_use_their_time_limits(
        asks in asks(),
        held in proptest::collection::vec((0_u16..=8, 1_u64..60), 3),
        behind in prop_oneof![Just(Behind::Wait), Just(Behind::Pass), Just(Behind::Backfill)],
        idle in any::<bool>(),
    ) {
        let snapshot = cluster(&asks, &held, behind, Order::Fifo);
        let planned_start = schedule(&snapshot, NOW).planned_starts;
        let starts = history(snapshot.clone(), idle);
        let begins_later = snapshot.all_waiting().any(|job| job.begin_at.is_some());
        for job in snapshot.all_waiting() {
            let found = forecast(&snapshot, NOW, job.key);
            prop_assert!(!found.bounded);
            let start = starts.get(&job.key).copied();
            match planned_start.get(&job.key).filter(|_| !begins_later) {
                Some(planned_start) => {
                    prop_assert_eq!(found.expected_at, Some(planned_start.at));
                    prop_assert!(start <= found.expected_at, "{} {:?} {:?}", job.key, start, found);
                }
                None if planned_start.contains_key(&job.key) => {
                    prop_assert!(start <= found.expected_at, "{} {:?} {:?}", job.key, start, found);
                }
                // A round that nothing has caused may find nodes that the one before did not try:
                // of those on which a reservation counts, a backfilled job tries only the best.
                None if behind == Behind::Backfill && idle => {
                    prop_assert_eq!(start.is_some(), found.expected_at.is_some());
                    prop_assert!(start <= found.expected_at, "{} {:?} {:?}", job.key, start, found);
                }
                None => prop_assert_eq!(found.expected_at, start, "job {}", job.key),
            }
        }
    }
}
