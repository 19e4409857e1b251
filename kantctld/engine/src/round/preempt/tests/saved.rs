//! Tests of jobs with a checkpoint: they lose what they did since then, and otherwise behave like
//! others.

use super::{World, high, low, of, queue};
use crate::testing::{change_policy, gpu_node, gpu_request, key, share};
use crate::{RunningJob, Snapshot, check, schedule};
use common::id::GpuIndex;
use common::policy::Moves;
use common::resource::{Allocation, GpuList, Share};
use common::time::{Span, Time};
use std::cmp::Reverse;
use std::sync::Arc;

/// Job 1 has run on a since minute 0, job 2 on b since minute 10, and it is minute 30.
fn world(runtime_min: u64) -> World {
    let mut queue = queue("q");
    queue.preemption.runtime_min = Span::from_minutes(runtime_min);
    let mut world = World::new(vec![gpu_node("a", 8), gpu_node("b", 8)], vec![queue]);
    world.submit(low(1, 8));
    assert_eq!(world.round(), ["1 on a"]);
    world.at(10).submit(low(2, 8));
    assert_eq!(world.round(), ["2 on b"]);
    world.at(30);
    world
}

fn save(world: &mut World, job: u32, minute: u64) {
    let at = world.minute(minute);
    let again = world.snapshot.movable.get(&key(job)).cloned();
    world.change(key(job), |job| job.saved_at = Some(at));
    world.snapshot.set_movable(key(job), again);
}

#[test]
fn who_saved_last_yields_first_though_it_started_first() {
    let mut other = world(0);
    save(&mut other, 1, 25);
    assert_eq!(other.submit(high(3, 8)).round(), ["1 for 3"]);
    let mut both = world(0);
    save(&mut both, 1, 25);
    save(&mut both, 2, 26);
    assert_eq!(both.submit(high(3, 8)).round(), ["2 for 3"]);
}

#[test]
fn who_saved_before_the_other_started_yields_later() {
    let mut world = world(0);
    save(&mut world, 1, 9);
    assert_eq!(world.submit(high(3, 8)).round(), ["2 for 3"]);
}

#[test]
fn an_earlier_attempts_word_is_none() {
    let mut world = world(0);
    save(&mut world, 1, 29);
    world.change(key(1), |job| job.saved_at = Some(Time(1)));
    assert_eq!(world.submit(high(3, 8)).round(), ["2 for 3"]);
}

#[test]
fn the_least_run_time_counts_from_the_start_all_the_same() {
    let mut safe = world(40);
    save(&mut safe, 1, 29);
    assert_eq!(safe.submit(high(3, 8)).round(), [""; 0]);
    assert_eq!(safe.round.next_look, Some(safe.minute(40)), "job 1 is safe until then");
    assert_eq!(safe.at(40).round(), ["1 for 3"]);

    let mut over = world(15);
    save(&mut over, 1, 29);
    assert_eq!(over.submit(high(3, 8)).round(), ["1 for 3"], "it ran for 30 minutes");
}

/// Jobs 1 and 2 have each held half of a node since minute 0, and queue a's job 3 needs a whole
/// one.
fn crumbled(minute: u64) -> World {
    let nodes = vec![gpu_node("a", 8), gpu_node("b", 8)];
    let mut world = World::new(nodes, vec![queue("a"), queue("b")]);
    change_policy(&mut world.snapshot, |policy| {
        policy.fair_sharing = true;
        policy.moves = Moves { per_hour: 10, lost_gpu_minutes_max: 60 };
    });
    for (job, gpus, queue, node) in [(9, 8, "b", "a"), (1, 4, "b", "b"), (8, 4, "a", "b")] {
        if job == 8 {
            world.over(9);
        }
        world.submit(of(job, gpu_request(gpus), queue, "low"));
        let decided = world.round();
        assert!(decided.len() == 1 && decided[0].starts_with(&format!("{job} on ")), "{decided:?}");
        assert!(job == 8 || decided[0].ends_with(node), "{decided:?}");
    }
    world.submit(of(2, gpu_request(4), "a", "low"));
    assert_eq!(world.round(), ["2 on a"]);
    world.over(8).at(minute).submit(of(3, gpu_request(8), "a", "low"));
    world
}

#[test]
fn who_saved_its_work_moves_where_it_would_have_had_too_much_to_lose() {
    // 4 GPUs for 16 minutes are 64 GPU-minutes, and 60 may be lost.
    assert_eq!(crumbled(16).round(), [""; 0]);
    let mut world = crumbled(16);
    save(&mut world, 1, 2);
    world.snapshot.prepare_for_round(world.now);
    let round = schedule(&world.snapshot, world.now);
    assert_eq!(check::check(&world.snapshot, world.now, &round), []);
    let mut unsaved = world.snapshot.clone();
    let again = unsaved.movable[&key(1)].clone();
    let job = RunningJob::clone(unsaved.running_job(key(1)).unwrap());
    unsaved.set_running(RunningJob { saved_at: None, ..job });
    unsaved.set_movable(key(1), Some(again));
    unsaved.prepare_for_round(world.now);
    let decided = check::check(&unsaved, world.now, &round);
    let decided: Vec<String> = decided.iter().map(ToString::to_string).collect();
    assert_eq!(decided, ["job 1 moves and loses more than the policy allows"]);
    assert_eq!(world.round(), ["1 for 3 to a"]);
}

/// Jobs of one GPU, or of none, with irregular start and checkpoint times.
fn many(jobs: u32) -> Snapshot {
    let nodes = (0..4).map(|node| gpu_node(&format!("n{node}"), 16)).collect();
    let mut snapshot = crate::testing::with_queues(nodes, vec![queue("q")]);
    let mut seed = 12_345_u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for job in 1..=jobs {
        let gpus = if draw(4) == 0 { GpuList::new() } else { [GpuIndex((job % 16) as u16)].into() };
        let node = format!("n{}", job % 4);
        let held = Share { gpus, ..share(&node, "0") };
        let allocation = Allocation::new(vec![held]).unwrap();
        crate::testing::run_on_all(&mut snapshot, job, allocation, None);
        let mut running = RunningJob::clone(snapshot.running_job(key(job)).unwrap());
        running.started_at = Time(draw(30));
        running.saved_at = (draw(2) == 0).then(|| Time(draw(40)));
        running.preemptible = true;
        snapshot.set_running(running);
    }
    snapshot
}

#[test]
fn rows_are_what_asking_and_sorting_all_that_run_comes_to() {
    let snapshot = many(200);
    let now = Time(40);
    let mut seen = 0;
    for (least, (row_key, row)) in (0..50).flat_map(|least| {
        snapshot.victim_index.groups().flat_map(|g| g.rows()).map(move |row| (least, row))
    }) {
        let least = Span(least);
        let mut jobs: Vec<&Arc<RunningJob>> = row.members().map(|member| &member.job).collect();
        seen += jobs.len();
        let gpus = |job: &RunningJob| job.allocation.shares()[0].gpus.len() as u64;
        let lost = |job: &RunningJob| gpus(job) * now.since(job.unsaved_since()).0;
        let place = |job: &RunningJob| (lost(job), Reverse(job.started_at), Reverse(job.key));
        jobs.sort_by_key(|job| place(job));
        let has_run = |job: &&&Arc<RunningJob>| now.since(job.started_at) >= least;
        let ran: Vec<_> = jobs.iter().filter(has_run).map(|job| job.key).collect();
        let found: Vec<_> = row.ran_for(now, least).map(|member| member.job.key).collect();
        assert_eq!(found, ran, "{row_key:?}, {least:?}");
        let may = |job: &Arc<RunningJob>| !job.key.job.0.is_multiple_of(3);
        let safe = jobs.iter().filter(|job| !has_run(job) && may(job));
        let safe = safe.map(|job| job.started_at).min();
        let found = row.next_unprotected(now, least, |member| may(&member.job));
        assert_eq!(found.map(|member| member.job.started_at), safe, "{row_key:?}, {least:?}");
    }
    assert_eq!(seen, 200 * 50);
}
