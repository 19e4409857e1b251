//! Samples from the measurements of replicas.

use super::*;
use common::autoscale::{Bounds, Concurrency, Fraction, Freeness, Queue};
use common::id::{Attempt, JobId, JobKey};

fn id(job: u32) -> AttemptId {
    AttemptId { key: JobKey::single(JobId(job)), attempt: Attempt(1) }
}

fn engine(running: u64, waiting: u64, answers: u64) -> EngineLoad {
    EngineLoad {
        running: Some(running),
        waiting: Some(waiting),
        kv_usage: Some(Fraction(500)),
        kv_tokens: Some(1000),
        ttft: Some(Summary { sum: answers * 20_000, count: answers }),
        ..EngineLoad::default()
    }
}

fn measured(job: u32, seconds: u64, engine: Option<EngineLoad>) -> ReplicaLoad {
    let measured_at = Span::from_seconds(seconds);
    ReplicaLoad { id: id(job), measured_at, engine, gpu_usage: None }
}

fn policy(rule: Rule) -> Policy {
    Policy::new(Bounds { min: Replicas(0), max: Replicas(4) }, rule)
}

fn at_router(in_flight: u64, held: u64) -> RouterLoad {
    let (service, requests) = ("chat".to_owned(), in_flight);
    let load = ServiceLoad { service, in_flight, held, requests, endpoints: Vec::new() };
    RouterLoad { table_version: 1, uptime: Span(0), services: vec![load] }
}

fn sample(reports: &Reports, rule: Rule, is_entry: bool, ready: &[AttemptId]) -> Option<Sample> {
    let (service, policy) = ("chat".parse().unwrap(), policy(rule));
    let role = Role { service: &service, is_entry, policy: &policy, ready };
    reports.sample(&role, Time(4000))
}

#[test]
fn engines_are_summed_and_means_are_of_what_happened_between_two_measurements() {
    let mut reports = Reports::default();
    let first = vec![measured(1, 1, Some(engine(1, 0, 10))), measured(2, 1, None)];
    reports.note_replicas(first, Time(2000));
    let second = vec![measured(1, 3, Some(engine(4, 2, 16))), measured(2, 3, None)];
    reports.note_replicas(second.clone(), Time(2001));
    // After a new connection.
    reports.note_replicas(second, Time(4000));
    let queue = Rule::Queue(Queue::default());
    let sample = sample(&reports, queue, true, &[id(1), id(2)]).unwrap();
    assert_eq!((sample.ready, sample.reporting), (Replicas(2), Replicas(1)));
    assert_eq!(sample.in_flight, Some(Requests::whole(6)));
    assert_eq!(sample.waiting, Some(Requests::whole(2)));
    assert_eq!(sample.rate, Some(RequestRate::whole(3)), "6 answers in 2 s, whenever they arrived");
    assert_eq!(sample.ttft, Some(Latency::whole(20)));
    assert_eq!(sample.freeness, Some(Freeness::from_whole(100)), "500 tokens are free, 5 requests");
}

#[test]
fn an_engine_that_was_started_again_has_no_rate_for_once() {
    let mut reports = Reports::default();
    reports.note_replicas(vec![measured(1, 1, Some(engine(1, 0, 10)))], Time(2000));
    reports.note_replicas(vec![measured(1, 3, Some(engine(1, 0, 3)))], Time(4000));
    let sample = sample(&reports, Rule::Queue(Queue::default()), false, &[id(1)]).unwrap();
    assert_eq!((sample.rate, sample.ttft), (None, None));
}

#[test]
fn routers_count_for_the_entry_role_and_wake_the_others() {
    let mut reports = Reports::default();
    let rule = || Rule::Concurrency(Concurrency::new(Requests::whole(2)));
    assert_eq!(sample(&reports, rule(), true, &[]), None, "nothing is known");
    reports.note_router(&testkit::name("g1"), at_router(5, 2), Time(3000));
    let entry = sample(&reports, rule(), true, &[id(1)]).unwrap();
    assert_eq!((entry.in_flight, entry.held), (Some(Requests::whole(3)), Requests::whole(2)));
    let other = sample(&reports, rule(), false, &[]).unwrap();
    assert_eq!(other.held, Requests::whole(5), "it has no replica yet");
    reports.note_replicas(vec![measured(3, 1, Some(engine(4, 1, 0)))], Time(3000));
    let other = sample(&reports, rule(), false, &[id(3)]).unwrap();
    assert_eq!((other.in_flight, other.held), (Some(Requests::whole(5)), Requests::whole(0)));
}

#[test]
fn old_reports_count_no_more() {
    let mut reports = Reports::default();
    reports.note_router(&testkit::name("g1"), at_router(5, 2), Time(0));
    reports.note_replicas(vec![measured(1, 1, Some(engine(4, 1, 0)))], Time(0));
    reports.forget_old(Time(9_999));
    assert_ne!(reports, Reports::default());
    reports.forget_old(Time(10_000));
    assert_eq!(reports, Reports::default());
}
