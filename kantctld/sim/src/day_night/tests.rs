//! Runs that are worked out by hand. Starts take one second, ends two, and a replica leaves the
//! discovery five seconds before.

use super::*;

/// Two nodes of 8 GPUs: one for the service by day, one for one team.
fn setup() -> Setup {
    Setup {
        days: 1,
        nodes: 2,
        gpus_per_node: 8,
        gpus_per_replica: Gpus(8),
        replicas_by_day: 1,
        replicas_by_night: 0,
        day: (8, 20),
        concurrency: 4,
        down_delay: Span::from_minutes(10),
        start_delay: Span::from_seconds(59),
        teams: vec![("lab".parse().unwrap(), Gpus(8))],
        protection: Span::from_minutes(30),
        checkpoint: Span::from_minutes(60),
        moves: common::policy::Moves::default(),
    }
}

fn training(minute: u64, hours: u64) -> Training {
    let (at, run) = (Time(minute * 60_000), Span::from_minutes(60 * hours));
    Training { at, team: 0, gpus: Gpus(8), run }
}

/// Requests in flight that do not change.
fn steady(in_flight: u32) -> Vec<u32> {
    vec![in_flight; 8640]
}

fn run(setup: &Setup, sizing: Sizing, jobs: &[Training], in_flight: &[u32]) -> Figures {
    play(setup, sizing, Demand { training: jobs, in_flight }).unwrap()
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

fn below(figures: &Figures, queue: &str) -> (f64, f64) {
    let found = figures.below_quota.iter().find(|one| one.queue.as_str() == queue).unwrap();
    (found.longest_seconds, found.beyond_protection_seconds)
}

#[test]
fn training_borrows_at_night_and_gives_back_once_its_protection_is_over() {
    // Both run on when the service needs GPUs at 08:00. The first is protected until 08:15.
    let jobs = [training(465, 12), training(470, 4)];
    let figures = run(&setup(), Sizing::Hours, &jobs, &steady(4));
    assert_eq!(below(&figures, "serving"), (15.0 * 60.0 + 2.0, 0.0));
    assert_eq!(below(&figures, "lab"), (0.0, 0.0));
    // It starts again when the second ends at 11:50:01, and does all its work again.
    assert_eq!((figures.training.preemptions, figures.training.unfinished), (1, 0));
    assert_eq!(figures.training.wait_mean_seconds, Some(0.0));
    near(figures.training.lost_gpu_hours, 8.0 * 1799.0 / 3600.0);
    let held = 1802.0 + 1.0 + 12.0 * 3600.0 + 1.0 + 4.0 * 3600.0;
    near(figures.training.gpu_hours, 8.0 * held / 3600.0);
    // From 08:15:02 to 20:00:07, ready from 08:16:02 to 20:00:00.
    near(figures.service.gpu_hours, 8.0 * (12.0 * 3600.0 - 902.0 + 7.0) / 3600.0);
    near(figures.service.without_place, (8640.0 - 4223.0) / 8640.0);
}

#[test]
fn a_service_of_one_size_lends_nothing() {
    let jobs = [training(0, 20), training(470, 3)];
    let figures = run(&setup(), Sizing::Fixed, &jobs, &steady(4));
    assert_eq!(figures.training.preemptions, 0);
    // It waits from 07:50 to 20:00:01.
    near(figures.training.wait_mean_seconds.unwrap(), (730.0 * 60.0 + 1.0) / 2.0);
    near(figures.service.gpu_hours, 8.0 * 24.0);
    assert_eq!((figures.gar.p10, figures.gar.p50), (Some(1.0), Some(1.0)));
    assert_eq!(figures.sor, Some(1.0), "until the last submission");
    assert_eq!(below(&figures, "serving"), (0.0, 0.0));
}

#[test]
fn a_service_sized_by_its_load_runs_while_there_is_one() {
    // Requests from 10:00 to 11:00.
    let in_flight: Vec<u32> = (0..8640).map(|step| 2 * u32::from(step / 360 == 10)).collect();
    let figures = run(&setup(), Sizing::Load, &[training(0, 1)], &in_flight);
    // It goes once none has been needed for ten minutes, and the grace of the last replica and the
    // windows add at most two.
    let hours = figures.service.gpu_hours / 8.0;
    assert!((70.0..73.0).contains(&(hours * 60.0)), "{hours}");
    // It starts within the first seconds, and is ready a minute later: at 7 of 360 steps.
    near(figures.service.without_place, 7.0 / 360.0);
}

#[test]
fn work_since_the_last_checkpoint_is_lost() {
    // The second job borrows from 03:15 to 08:00, and has saved its work four times.
    let jobs = [training(0, 10), training(195, 6)];
    let figures = run(&setup(), Sizing::Hours, &jobs, &steady(4));
    near(figures.training.lost_gpu_hours, 8.0 * (45.0 * 60.0 - 1.0) / 3600.0);
    // It goes on from 10:00:01 with two hours that are left.
    let ran = (45.0 + 240.0) * 60.0 + 2.0 + 7201.0;
    near(figures.training.gpu_hours, 8.0 * (36_001.0 + ran) / 3600.0);
}

#[test]
fn only_what_is_longer_than_the_protection_is_beyond_it() {
    let team = |minutes| TeamOutcome {
        queue: "lab".parse().unwrap(),
        quota: None,
        below: Span::from_minutes(minutes),
        below_by_one: Span(0),
    };
    let of = |minutes| BelowQuota::of(team(minutes), Span::from_minutes(30));
    assert_eq!((of(31).longest_seconds, of(31).beyond_protection_seconds), (1860.0, 60.0));
    assert_eq!(of(30).beyond_protection_seconds, 0.0);
}
