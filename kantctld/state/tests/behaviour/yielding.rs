//! Preempted jobs: they are requeued in their place or end, and both timelines record it.

use crate::house::{House, OPERATOR, USER, attempt, end, exited, running, settings, share};
use common::id::{AttemptId, JobKey};
use common::job::{Ask, EndCause, Outcome, Phase, PreemptReason, Preempted};
use common::policy::VictimMode;
use common::resource::{GpuRequest, Request};
use common::unit::Gpus;
use common::wire::node::Want;
use query::view;
use state::ledger::StartRefusal;
use state::{Command, Event, RoundPreempt, Target};

/// Preempts an attempt for a job.
fn preempt(house: &mut House, id: AttemptId, by: JobKey, mode: VictimMode) -> Vec<Event> {
    let preempted = Preempted { by, why: PreemptReason::Reclaim };
    let preempts = vec![RoundPreempt { id, preempted, mode, to: Vec::new() }];
    house.apply(Command::EnactRound {
        preempts,
        shrinks: Vec::new(),
        starts: vec![],
        grows: vec![],
    })
}

fn refusal(events: &[Event]) -> &StartRefusal {
    match events {
        [Event::RoundEntryRefused { reason, .. }] => reason,
        other => panic!("{other:?}"),
    }
}

fn timeline(house: &House, key: JobKey) -> Vec<String> {
    let jobs =
        view::job_detail(&house.state, &query::viewer::Viewer::ALL, key, &view::Waits::new())
            .unwrap()
            .jobs;
    jobs[0].timeline.iter().map(|line| line.text.clone()).collect()
}

/// A running victim and a waiting job.
fn scene(house: &mut House, ask: Ask) -> (AttemptId, JobKey) {
    let victim = JobKey::single(house.submit(ask));
    let id = house.start(victim, vec![share("g1", 0, 8, &[])]);
    house.report("g1", id, running());
    (id, house.job())
}

#[test]
fn a_victim_is_stopped_waits_again_with_its_place_and_both_stories_tell_it() {
    let mut house = House::new();
    let (id, by) = scene(&mut house, Ask::default());
    let before = house.state.job(id.key.job).unwrap().submitted_at;
    house.wait(60);
    let events = preempt(&mut house, id, by, VictimMode::Requeue);
    assert!(matches!(
        events.as_slice(),
        [
            Event::JobEnded { outcome: Outcome::Preempted, requeue: true, by: None, .. },
            Event::JobPreempts { .. }
        ]
    ));
    assert_eq!(house.want("g1", id), Some(Want::Stop), "SIGTERM, grace, SIGKILL are the node's");
    assert_eq!(house.phase(id.key), Phase::Completing);
    house.report("g1", id, end(EndCause::Stopped, 0));
    assert_eq!(house.phase(id.key), Phase::Pending);
    assert_eq!(house.element(id.key).faults, None, "it waits for no back-off");
    assert_eq!(house.state.job(id.key.job).unwrap().submitted_at, before);
    let lines = timeline(&house, id.key);
    let yields = "preempted by job 2 (quota that was lent), to be requeued";
    assert_eq!(lines[3..], [yields, "requeued after preemption of attempt 1 by job 2"]);
    assert_eq!(timeline(&house, by)[1..], ["preempts job 1 (quota that was lent)"]);
    house.start(id.key, vec![share("g2", 0, 8, &[])]);
    assert_eq!(house.element(id.key).attempt.0, 2);
}

/// Turns on fair sharing with this number of moves per hour.
fn with_moves(house: &mut House, per_hour: u32) {
    let mut settings = settings();
    settings.fair_sharing = true;
    settings.moves.per_hour = per_hour;
    settings.queues[0].preemption.preemptible = true;
    house.apply(Command::Configure(settings));
}

/// Runs a round, carries it out, and returns its decisions.
fn round(house: &mut House) -> Vec<String> {
    let mut snapshot = state::snapshot::snapshot(&house.state);
    snapshot.prepare_for_round(house.now);
    let round = engine::schedule(&snapshot, house.now);
    assert_eq!(engine::check::check_decisions(&snapshot, house.now, &round.decisions), []);
    let found = round.decisions.iter().map(|decision| match decision {
        engine::Decision::Start { key, allocation, .. } => {
            format!("{key} on {}", allocation.shares()[0].node)
        }
        engine::Decision::Preempt { key, by, to, .. } => format!("{key} for {by} to {to:?}"),
        _ => String::new(),
    });
    let found = found.collect();
    if let Some(command) = state::snapshot::enact_command(&round.decisions) {
        house.apply(command);
    }
    found
}

fn with_gpus(gpus: u32) -> Ask {
    let gpus = Some(GpuRequest::PerNode(Gpus(gpus)));
    Ask { request: Request { gpus, ..Request::default() }, ..Ask::default() }
}

/// A job of 2 GPUs runs on each of two nodes with 4 GPUs.
fn half_full(per_hour: u32, requeue: bool) -> (House, Vec<JobKey>) {
    let mut house = House::new();
    with_moves(&mut house, per_hour);
    let jobs = ["g1", "g2"].map(|node| {
        let key = JobKey::single(house.submit(Ask { requeue, ..with_gpus(2) }));
        let id = house.start(key, vec![share(node, 0, 1, &[0, 1])]);
        house.report(node, id, running());
        key
    });
    (house, jobs.to_vec())
}

#[test]
fn a_job_that_moves_has_its_place_kept_and_starts_there_under_any_leader() {
    let (mut house, jobs) = half_full(1, true);
    let second = attempt(jobs[1], 1);
    house.wait(60);
    house.submit(with_gpus(4));
    assert_eq!(round(&mut house), ["2 for 3 to [NodeName(\"g1\")]"]);
    assert_eq!(house.state.move_times(), [house.now]);
    // A snapshot built from scratch, as by a new leader, knows the kept place too.
    house.submit(with_gpus(2));
    assert_eq!(round(&mut house), [""; 0], "job 4 would fit on g1");
    house.wait(20);
    house.report("g2", second, end(EndCause::Stopped, 0));
    assert_eq!(round(&mut house), ["2 on g1", "3 on g2"]);
    assert_eq!(house.element(jobs[1]).moving, None);
    let lines = timeline(&house, jobs[1]);
    assert!(lines.contains(&"preempted by job 3 (it has room elsewhere), to be requeued".into()));
}

#[test]
fn a_suspended_job_is_not_moved_nor_is_a_place_kept_for_one_that_is_cancelled() {
    let (mut house, jobs) = half_full(1, true);
    house.submit(with_gpus(4));
    let mut keeper = state::snapshot::SnapshotKeeper::new(&house.state);
    let moved = |keeper: &mut state::snapshot::SnapshotKeeper, now| {
        keeper.snapshot_mut().prepare_for_round(now);
        let round = engine::schedule(keeper.snapshot(), now);
        state::snapshot::enact_command(&round.decisions)
    };
    let before = moved(&mut keeper, house.now);
    assert!(before.is_some());
    for job in &jobs {
        let (actor, target) = (OPERATOR, Target { key: *job });
        let events = house.apply(Command::SuspendJob { actor, target });
        keeper.update(&house.state, &events);
    }
    assert_eq!(moved(&mut keeper, house.now), None);
    house.apply(before.unwrap());
    assert!(house.element(jobs[1]).moving.is_some(), "it was decided before");
    house.apply(Command::CancelJob { actor: USER, target: Target { key: jobs[1] } });
    assert_eq!(house.element(jobs[1]).moving, None);
}

#[test]
fn a_budget_of_moves_is_for_an_hour_and_a_job_without_requeue_stays() {
    for (per_hour, requeue) in [(0, true), (1, false)] {
        let (mut house, _) = half_full(per_hour, requeue);
        house.submit(with_gpus(4));
        assert_eq!(round(&mut house), [""; 0], "{per_hour} {requeue}");
    }
}

#[test]
fn a_victim_is_over_where_its_queue_or_its_user_wants_no_requeue() {
    for (mode, requeue) in [(VictimMode::Cancel, true), (VictimMode::Requeue, false)] {
        let mut house = House::new();
        let (id, by) = scene(&mut house, Ask { requeue, ..Ask::default() });
        preempt(&mut house, id, by, mode);
        house.report("g1", id, end(EndCause::Stopped, 0));
        assert_eq!(house.outcome(id.key), Some(Outcome::Preempted));
    }
}

#[test]
fn a_victim_that_succeeded_before_the_word_reached_it_is_not_run_again() {
    let mut house = House::new();
    let (id, by) = scene(&mut house, Ask::default());
    preempt(&mut house, id, by, VictimMode::Requeue);
    house.report("g1", id, exited(0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
}

#[test]
fn a_victim_that_is_cancelled_meanwhile_is_cancelled() {
    let mut house = House::new();
    let (id, by) = scene(&mut house, Ask::default());
    preempt(&mut house, id, by, VictimMode::Requeue);
    let cancel = house.cancel(id.key);
    house.apply(cancel);
    house.report("g1", id, end(EndCause::Stopped, 0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Cancelled));
}

#[test]
fn what_is_being_stopped_already_is_left_alone() {
    let mut house = House::new();
    let (id, by) = scene(&mut house, Ask::default());
    let cancel = house.cancel(id.key);
    house.apply(cancel);
    assert_eq!(preempt(&mut house, id, by, VictimMode::Requeue), []);
    house.report("g1", id, end(EndCause::Stopped, 0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Cancelled));
}

#[test]
fn a_round_that_was_overtaken_preempts_no_job() {
    let mut house = House::new();
    let (id, by) = scene(&mut house, Ask::default());
    let stale = attempt(id.key, 2);
    let events = preempt(&mut house, stale, by, VictimMode::Requeue);
    assert_eq!(refusal(&events), &StartRefusal::NothingToYield);
    let events = preempt(&mut house, attempt(by, 0), by, VictimMode::Requeue);
    assert_eq!(refusal(&events), &StartRefusal::NothingToYield);
    let hold = Command::HoldJob { actor: USER, target: Target { key: by } };
    house.apply(hold);
    let events = preempt(&mut house, id, by, VictimMode::Requeue);
    assert_eq!(refusal(&events), &StartRefusal::NoJobWaits(by));
    let cancel = house.cancel(by);
    house.apply(cancel);
    let events = preempt(&mut house, id, by, VictimMode::Requeue);
    assert_eq!(refusal(&events), &StartRefusal::NoJobWaits(by));
    assert_eq!(house.phase(id.key), Phase::Running);
}
