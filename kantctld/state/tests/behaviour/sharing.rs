//! Shared GPUs, starts with fewer tasks, and starts of several jobs together.

use crate::house::{House, attempt, exited, name, queue, settings, share, tasks_of};
use common::gpu_parts::{GpuParts, PartSize};
use common::id::{GpuIndex, JobKey};
use common::job::{Ask, Phase};
use common::policy::Sandbox;
use common::reason::Refusal;
use common::resource::{Allocation, GpuRequest, Request, Share};
use common::unit::{Bytes, GpuMilli, Gpus, Tasks};
use state::ledger::StartRefusal;
use state::{Command, Event, RoundStart, Settings};

/// A house whose default queue shares GPUs.
fn house() -> House {
    let mut house = House::new();
    let mut shares = queue("main", true);
    shares.share_gpus = true;
    let queues = vec![shares, queue("whole", false)];
    house.apply(Command::Configure(Settings { queues, ..settings() }));
    house
}

#[test]
fn a_launch_order_has_the_sandbox_of_its_queue() {
    let mut house = House::new();
    let mut strict = queue("main", true);
    strict.sandbox = Sandbox::Strict;
    house.apply(Command::Configure(Settings { queues: vec![strict], ..settings() }));
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    let order = state::desired::launch_order(&house.state, id, &name("g1")).unwrap();
    assert_eq!(order.sandbox, Sandbox::Strict);
}

fn asks(gpus: GpuRequest) -> Ask {
    Ask { request: Request { gpus: Some(gpus), ..Request::default() }, ..Ask::default() }
}

/// A part of GPU 1 of g1, with one CPU.
fn part(cpu: u32, milli: u32) -> Share {
    Share { gpu_milli: Some(GpuMilli(milli)), ..share("g1", cpu, 1, &[1]) }
}

fn refusal(events: &[Event]) -> StartRefusal {
    match events {
        [Event::RoundEntryRefused { reason, .. }] => reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn jobs_share_a_gpu_as_long_as_there_is_some_of_it_left() {
    let mut house = house();
    let mut job = |milli| {
        let ask = asks(GpuRequest::Parts(GpuParts::of_one(GpuMilli(milli))));
        JobKey::single(house.submit(ask))
    };
    let (half, third, most) = (job(500), job(300), job(700));
    let whole = JobKey::single(house.submit(asks(GpuRequest::PerNode(Gpus(1)))));
    let first = house.start(half, vec![part(0, 500)]);
    house.start(third, vec![part(1, 300)]);
    let held = |house: &House| house.state.ledger().holdings_on(&name("g1")).unwrap().clone();
    assert_eq!(held(&house).gpu_milli(GpuIndex(1)), GpuMilli(800));
    let taken = StartRefusal::Taken(name("g1"));
    assert_eq!(refusal(&house.enact(attempt(most, 1), vec![part(2, 700)])), taken);
    let all = vec![share("g1", 3, 1, &[1])];
    assert_eq!(refusal(&house.enact(attempt(whole, 1), all)), taken);
    house.report("g1", first, exited(0));
    house.start(most, vec![part(2, 700)]);
    assert_eq!(held(&house).shared_gpus()[&GpuIndex(1)], GpuMilli(1000));
    house.start(whole, vec![share("g1", 3, 1, &[0])]);
    assert_eq!(held(&house).gpu_milli(GpuIndex(0)), GpuMilli(1000));
}

#[test]
fn a_job_gets_the_part_it_asked_for_and_of_one_gpu() {
    let mut house = house();
    let half =
        JobKey::single(house.submit(asks(GpuRequest::Parts(GpuParts::of_one(GpuMilli(500))))));
    let id = attempt(half, 1);
    let other = StartRefusal::OtherPart(name("g1"));
    assert_eq!(refusal(&house.enact(id, vec![part(0, 400)])), other);
    assert_eq!(refusal(&house.enact(id, vec![share("g1", 0, 1, &[1])])), other);
    let two = Share { gpus: [GpuIndex(0), GpuIndex(1)].into(), ..part(0, 500) };
    assert_eq!(refusal(&house.enact(id, vec![two])), other);
}

#[test]
fn a_job_gets_parts_of_as_many_gpus_as_it_asked_for() {
    let mut house = house();
    let parts = GpuParts { devices: Gpus(2), each: PartSize::Milli(GpuMilli(500)) };
    let ask = asks(GpuRequest::Parts(parts));
    let (job, next) =
        (JobKey::single(house.submit(ask.clone())), JobKey::single(house.submit(ask)));
    let of = |cpu, gpus: &[u16]| {
        let gpus = gpus.iter().copied().map(GpuIndex).collect();
        vec![Share { gpus, ..part(cpu, 500) }]
    };
    let other = StartRefusal::OtherPart(name("g1"));
    assert_eq!(refusal(&house.enact(attempt(job, 1), of(0, &[0]))), other);
    house.start(job, of(0, &[0, 1]));
    house.start(next, of(1, &[0, 1]));
    let held = house.state.ledger().holdings_on(&name("g1")).unwrap();
    assert_eq!(held.shared_gpus()[&GpuIndex(1)], GpuMilli(1000));
}

#[test]
fn a_part_by_memory_is_what_the_nodes_gpu_makes_of_it() {
    let mut house = house();
    let gpu = house.state.node(&name("g1")).unwrap().inventory.gpus[0].memory;
    let ask = |memory| {
        let each = PartSize::Memory(memory);
        asks(GpuRequest::Parts(GpuParts { devices: Gpus(1), each }))
    };
    let quarter = JobKey::single(house.submit(ask(Bytes(gpu.0 / 4))));
    let other = StartRefusal::OtherPart(name("g1"));
    assert_eq!(refusal(&house.enact(attempt(quarter, 1), vec![part(0, 500)])), other);
    house.start(quarter, vec![part(0, 250)]);
    let twice = JobKey::single(house.submit(ask(Bytes(gpu.0 * 2))));
    let malformed = StartRefusal::Malformed(name("g1"));
    assert_eq!(refusal(&house.enact(attempt(twice, 1), vec![part(1, 2000)])), malformed);
    let command = house.submission(ask(Bytes(0)));
    assert!(matches!(house.refused(command), Refusal::BadAsk { .. }));
}

#[test]
fn parts_of_gpus_are_for_queues_that_share_and_for_one_task() {
    let mut house = house();
    let half = || asks(GpuRequest::Parts(GpuParts::of_one(GpuMilli(500))));
    let whole = Ask { queue: "whole".parse().ok(), ..half() };
    let command = house.submission(whole);
    let refused = house.refused(command);
    assert!(matches!(refused, Refusal::WholeGpusOnly { .. }));
    assert!(refused.text_with_hint().contains("share_gpus = true"), "{refused}");
    let mut two = half();
    two.request.tasks = Tasks(2);
    let command = house.submission(two);
    assert!(matches!(house.refused(command), Refusal::BadAsk { .. }));
    let command = house.submission(asks(GpuRequest::Parts(GpuParts::of_one(GpuMilli(1000)))));
    assert!(matches!(house.refused(command), Refusal::BadAsk { .. }));
}

#[test]
fn a_job_starts_with_all_its_tasks_or_as_many_as_it_is_content_with() {
    let mut house = House::new();
    let four = |tasks: u32| vec![Share { tasks: Tasks(tasks), ..share("g1", 0, 4, &[]) }];
    let (all, some) = (house.gang(4), {
        let mut ask = tasks_of(4);
        ask.request.tasks_min = Some(Tasks(2));
        JobKey::single(house.submit(ask))
    });
    let (most, given) = (Tasks(4), Tasks(3));
    let other = StartRefusal::OtherTasks { least: Tasks(4), most, given };
    assert_eq!(refusal(&house.enact(attempt(all, 1), four(3))), other);
    for given in [1, 5] {
        let other = StartRefusal::OtherTasks { least: Tasks(2), most, given: Tasks(given) };
        assert_eq!(refusal(&house.enact(attempt(some, 1), four(given))), other);
    }
    house.start(some, four(2));
    let mut none = tasks_of(4);
    none.request.tasks_min = Some(Tasks(5));
    let command = house.submission(none);
    assert!(matches!(house.refused(command), Refusal::BadAsk { .. }));
}

#[test]
fn a_group_starts_together_or_not_at_all() {
    let mut house = House::new();
    let (first, second, third) = (house.job(), house.job(), house.job());
    let start = |key: JobKey, cpu: u32, cpus: u32| RoundStart {
        id: attempt(key, 1),
        allocation: Allocation::new(vec![share("g1", cpu, cpus, &[])]).unwrap(),
        group: Some(first),
    };
    let enact = |house: &mut House, starts| {
        house.apply(Command::EnactRound {
            preempts: vec![],
            shrinks: Vec::new(),
            starts,
            grows: Vec::new(),
        })
    };
    let before = house.state.clone();
    // The third takes a CPU that the second has taken.
    let starts = vec![start(first, 0, 4), start(second, 4, 2), start(third, 5, 3)];
    let events = enact(&mut house, starts);
    let refused: Vec<String> = events.iter().map(query::event::line).collect();
    let with = "refused in a round: job 3, with which it starts, could not start";
    assert_eq!(refused[..2], [format!("job 1: {with}"), format!("job 2: {with}")]);
    assert!(refused[2].contains("some of these resources are in use on node g1"), "{refused:?}");
    assert_eq!(house.state, before);
    enact(&mut house, vec![start(first, 0, 4), start(first, 4, 2)]);
    assert_eq!(house.phase(first), Phase::Pending, "it stands there twice");
    enact(&mut house, vec![start(first, 0, 4), start(second, 4, 2), start(third, 6, 2)]);
    assert!([first, second, third].iter().all(|key| house.phase(*key) == Phase::Starting));
}
