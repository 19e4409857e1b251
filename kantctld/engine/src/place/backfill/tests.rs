//! Start times compared with a brute-force search that asks every minute.

use crate::model::cluster::NodeIndex;
use crate::model::shape::Placing;
use crate::model::shape::{Shape, Side};
use crate::model::snapshot::ReadyTimes;
use crate::place::backfill::earliest::{Window, earliest, part_sizes};
use crate::place::backfill::ready_times::earliest_with;
use crate::place::node_search::bookings::{Booking, For};
use crate::place::node_search::openings::Occupancy;
use crate::round::planner::RoundState;
use crate::testing::{gpu_node, gpu_request, key, run, share, share_request, snapshot, waiting};
use common::id::GpuIndex;
use common::policy::Placement;
use common::resource::{Request, Share};
use common::time::{Span, Time};
use common::unit::{GpuMilli, Nodes, Tasks};
use proptest::prelude::*;
use std::sync::Arc;

const NOW: Time = Time(9_000_000);
const GPUS: u16 = 3;
const HORIZON: u64 = 60;

fn minute(minutes: u64) -> Time {
    NOW + Span::from_minutes(minutes)
}

/// Thousandths of one GPU; 2000 are two whole GPUs.
fn asks(milli: u32) -> Request {
    if milli > 1000 { gpu_request(2) } else { share_request(milli) }
}

fn milli() -> impl Strategy<Value = u32> {
    prop_oneof![Just(200), Just(300), Just(500), Just(700), Just(1000), Just(2000)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn starts_on_shared_gpus_are_those_at_which_there_is_room_at_every_moment(
        held in proptest::collection::vec((0..GPUS, milli(), 1_u64..30), 0..5),
        booked in proptest::collection::vec((milli(), 0_u64..40, 1_u64..30), 0..5),
        (asked, length) in (milli(), 1_u64..25),
    ) {
        let mut cluster = snapshot(vec![gpu_node("a", GPUS)]);
        let mut free = [1000_u32; GPUS as usize];
        for (job, (gpu, milli, end)) in (1..).zip(&held) {
            let left = &mut free[usize::from(*gpu)];
            if *milli > *left {
                continue;
            }
            *left -= milli;
            let gpu_milli = (*milli < 1000).then_some(GpuMilli(*milli));
            let cpu = format!("{job}");
            let gpus = [GpuIndex(*gpu)].into();
            let share = Share { gpus, gpu_milli, ..share("a", &cpu) };
            run(&mut cluster, job, share, Some(minute(*end)));
        }
        cluster.prepare_for_round(NOW);
        let mut state = RoundState::new(&cluster, NOW);
        let queue = &cluster.policy.queues[0];
        let at = NodeIndex(0);
        let side = Placing { side: Side::Outside, placement: Placement::First };
        for (job, (milli, from, minutes)) in (100..).zip(&booked) {
            let request = asks(*milli);
            let (nodes, policy) = (&cluster.cluster, &cluster.policy);
            let shape = Shape::new(nodes, policy, queue, &request, false, Arc::default());
            let other = waiting(job, request.clone(), *minutes);
            let part = shape.demand.even_parts(common::unit::Nodes(1))[0];
            let takes = state.node_search_of(&other, &shape, side, &[]).usage_on_node(at, part);
            let (from, to) = (minute(*from), minute(from + minutes));
            let kept_for = For::Job(key(job));
            state.bookings.add(at, Booking { from, to, takes, gpus: 0, kept_for });
        }
        let request = asks(asked);
        let shape =
            Shape::new(&cluster.cluster, &cluster.policy, queue, &request, false, Arc::default());
        let job = waiting(99, request.clone(), length);
        let search = state.node_search_of(&job, &shape, side, &[]);
        let takes = search.usage_on_node(at, shape.demand.even_parts(common::unit::Nodes(1))[0]);
        let has_room =
            |time: Time| state.bookings.tally(&state.trial, at, time, NOW).holds(takes);
        let fits = |start: u64| (start..start + length).all(|time| has_room(minute(time)));
        let by_force: Vec<u64> = (0..HORIZON).filter(|start| fits(*start)).collect();
        let mut found = Vec::new();
        let by = minute(HORIZON);
        let occupancy = Occupancy { takes, length: Span::from_minutes(length) };
        state.bookings.start_intervals(&search, at, occupancy, by, |from, to| {
            found.push((from, to));
            true
        });
        let is_found = |start: &u64| {
            found.iter().any(|(from, to)| (*from..=*to).contains(&minute(*start)))
        };
        let found: Vec<u64> = (0..HORIZON).filter(is_found).collect();
        prop_assert_eq!(found, by_force);
    }
}

proptest! {
    #[test]
    fn kept_times_give_the_same_start_as_asking_every_node(
        held in proptest::collection::vec((0..6_usize, 1..=GPUS, 1_u64..30), 0..20),
        (gpus, nodes) in (1..=GPUS, 1_u32..5),
    ) {
        let names = ["a", "b", "c", "d", "e", "f"];
        let mut cluster = snapshot(names.iter().map(|name| gpu_node(name, GPUS)).collect());
        let (mut used, mut running) = ([0_u16; 6], Vec::new());
        for (job, (node, gpus, end)) in (1..).zip(&held) {
            let first = used[*node];
            if first + gpus > GPUS {
                continue;
            }
            used[*node] += gpus;
            let gpus = (first..first + gpus).map(GpuIndex).collect();
            let share = Share { gpus, ..share(names[*node], &first.to_string()) };
            run(&mut cluster, job, share, Some(minute(*end)));
            running.push(job);
        }
        let mut request = gpu_request(u32::from(gpus));
        (request.nodes, request.tasks) = (Some(Nodes(nodes)), Tasks(nodes));
        let mut known = ReadyTimes::default();
        for step in 0..4 {
            // Some jobs end early, others are past their time limits.
            let now = minute(5 * step);
            cluster.prepare_for_round(now);
            let state = RoundState::new(&cluster, now);
            let (queue, typical) = (&cluster.policy.queues[0], Arc::default());
            let shape =
                Shape::new(&cluster.cluster, &cluster.policy, queue, &request, false, typical);
            let job = waiting(99, request.clone(), 10);
            let placing = Placing { side: Side::Outside, placement: Placement::First };
            let search = state.node_search_of(&job, &shape, placing, &[]);
            let window = Window { after: now, by: None };
            let size = part_sizes(&search, Nodes(nodes))[0];
            let mut asked = Vec::new();
            for _ in 0..2 {
                let found = earliest_with(&search, size, window, (Some(&known), &mut asked));
                prop_assert_eq!(found, earliest(&search, job.time_limit, window));
            }
            drop(state);
            known.update(names.len(), &asked);
            running.pop().into_iter().for_each(|job| cluster.remove_job(key(job)));
        }
    }
}

#[test]
fn nodes_that_end_late_are_not_asked_when_they_have_room() {
    let asked = |count: u64| {
        let names: Vec<String> = (0..count).map(|at| format!("n{at:03}")).collect();
        let mut cluster = snapshot(names.iter().map(|name| gpu_node(name, 1)).collect());
        for (job, name) in (1..).zip(&names) {
            let share = Share { gpus: [GpuIndex(0)].into(), ..share(name, "0") };
            // The later a node's name, the sooner its job ends.
            let end = minute(1 + count - u64::from(job));
            run(&mut cluster, job, share, Some(end));
        }
        cluster.prepare_for_round(NOW);
        let state = RoundState::new(&cluster, NOW);
        let mut request = gpu_request(1);
        (request.nodes, request.tasks) = (Some(Nodes(3)), Tasks(3));
        let queue = &cluster.policy.queues[0];
        let shape =
            Shape::new(&cluster.cluster, &cluster.policy, queue, &request, false, Arc::default());
        let job = waiting(999, request.clone(), 10);
        let placing = Placing { side: Side::Outside, placement: Placement::First };
        let search = state.node_search_of(&job, &shape, placing, &[]);
        let found = earliest(&search, job.time_limit, Window { after: NOW, by: None }).unwrap();
        assert_eq!((found.at, found.nodes.len()), (minute(3), 3));
        state.trial.asked.get()
    };
    assert_eq!([asked(20), asked(200)], [3, 3]);
}
