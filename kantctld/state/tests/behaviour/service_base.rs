//! Replicas that start together, and live apart.

use common::id::{JobKey, Ordinal, Revision};
use common::job::{EndCause, Phase};
use common::resource::Allocation;
use common::service::{Base, RoleSpec, ServiceSpec, StopReason};
use common::topology::{Level, Nearness};
use common::wire::node::StepPhase;
use state::{Command, ReplicaPlace, RoundStart};
use testkit::deployment;
use testkit::house::{House, end, exited, running, share};

fn key(text: &str) -> JobKey {
    text.parse().unwrap()
}

/// Two roles with a script each, and a replica of each that is submitted with the other.
fn waiting() -> House {
    waiting_with(|_| {})
}

fn waiting_with(change: impl FnOnce(&mut ServiceSpec)) -> House {
    let mut house = House::new();
    let other = "#!/bin/sh\ndecode\n";
    let mut made = deployment("chat", "#!/bin/sh\nprefill\n", |spec| {
        let script = common::blob::BlobHash::of(other.as_bytes());
        let name = "decode".parse().unwrap();
        spec.roles.push(RoleSpec { name, script, ..spec.roles[0].clone() });
        spec.base = Base::Gang;
        change(spec);
    });
    made.texts.push(other.to_owned());
    house.apply(Command::DeployService(Box::new(made)));
    let place = |role: &str| ReplicaPlace { role: role.parse().unwrap(), ordinal: Ordinal(0) };
    let start = || Command::StartReplicas {
        service: "chat".parse().unwrap(),
        revision: Revision(1),
        places: vec![place("worker"), place("decode")],
    };
    house.apply(start());
    let events = house.apply(start());
    assert_eq!(events, [], "two leaders that decide the same start one base");
    house
}

fn start(house: &mut House) {
    let start = |job: &str, node: &str| RoundStart {
        id: house.attempt_of(key(job)),
        allocation: Allocation::new(vec![share(node, 0, 1, &[])]).unwrap(),
        group: Some(key("1")),
    };
    let starts = vec![start("1", "g1"), start("2", "g2")];
    let (preempts, shrinks, grows) = (Vec::new(), Vec::new(), Vec::new());
    house.apply(Command::EnactRound { preempts, shrinks, grows, starts });
}

#[test]
fn the_base_prefers_the_nearness_of_its_revision() {
    let near = |house: &House| {
        ["1", "2"].map(|job| state::snapshot::waiting(&house.state, key(job)).unwrap().near_all)
    };
    assert_eq!(near(&waiting()), [None; 2]);
    let leaf = Nearness { level: Level::Leaf, required: false };
    assert_eq!(near(&waiting_with(|spec| spec.near = Some(Level::Leaf))), [Some(leaf); 2]);
}

#[test]
fn each_has_its_own_script_and_name() {
    let house = waiting();
    let script = |job: &str| {
        let hash = house.state.job(key(job).job).unwrap().spec.script;
        String::from_utf8(house.state.blobs().get(&hash).unwrap().to_vec()).unwrap()
    };
    assert_eq!(
        (script("1").as_str(), script("2").as_str()),
        ("#!/bin/sh\nprefill\n", "#!/bin/sh\ndecode\n")
    );
    let groups = ["1", "2"].map(|job| {
        house.state.job(key(job).job).unwrap().spec.ask.request.apart.clone().unwrap().group
    });
    assert_eq!(groups, ["1000/chat/worker", "1000/chat/decode"]);
}

#[test]
fn they_wait_for_each_other_until_all_are_ready_and_then_live_apart() {
    let mut house = waiting();
    start(&mut house);
    let ids = ["1", "2"]
        .map(|job| common::id::AttemptId { key: key(job), attempt: common::id::Attempt(1) });
    house.report("g1", ids[0], StepPhase::Ready);
    assert_eq!(house.phase(key("1")), Phase::Starting, "the other is not ready");
    assert!(house.state.job(key("1").job).unwrap().set.is_some());
    house.report("g2", ids[1], StepPhase::Ready);
    house.report("g1", ids[0], running());
    house.report("g2", ids[1], running());
    assert!(house.state.jobs().all(|record| record.set.is_none()));
    assert_eq!(["1", "2"].map(|job| house.phase(key(job))), [Phase::Running; 2]);
    house.report("g1", ids[0], exited(1));
    assert_eq!(["1", "2"].map(|job| house.phase(key(job))), [Phase::Done, Phase::Running]);
}

#[test]
fn one_that_cannot_be_launched_takes_all_back() {
    let mut house = waiting();
    start(&mut house);
    let ids = ["1", "2"]
        .map(|job| common::id::AttemptId { key: key(job), attempt: common::id::Attempt(1) });
    house.report("g1", ids[0], StepPhase::Ready);
    house.report("g2", ids[1], end(EndCause::NodeFault, 1));
    house.report("g1", ids[0], end(EndCause::Stopped, 0));
    assert_eq!(["1", "2"].map(|job| house.phase(key(job))), [Phase::Pending; 2]);
    assert!(house.state.jobs().all(|record| record.set.is_some()), "they wait as a whole");
}

#[test]
fn stopping_one_takes_back_a_base_that_would_wait_again() {
    let mut house = waiting();
    start(&mut house);
    let id = common::id::AttemptId { key: key("1"), attempt: common::id::Attempt(1) };
    house.report("g1", id, StepPhase::Ready);
    house.lose("g2");
    assert_eq!(house.phase(key("1")), Phase::Completing);
    let why = StopReason::ScaledDown;
    house.apply(Command::StopReplica { key: key("2"), why });
    house.report("g1", id, end(EndCause::Stopped, 0));
    assert_eq!(["1", "2"].map(|job| house.phase(key(job))), [Phase::Done; 2]);
}
