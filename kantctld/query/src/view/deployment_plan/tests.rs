//! Plans of deployments: what they say for each kind of change.

use super::*;
use common::gpu_parts::{GpuParts, PartSize};
use common::id::{Ordinal, Revision};
use common::policy::{Amounts, Quota, QuotaMode};
use common::resource::{GpuRequest, Request};
use common::service::table::Hold;
use common::time::Span;
use common::unit::{GpuMilli, Gpus};
use state::{Command, ReplicaPlace};
use testkit::deployment;
use testkit::house::{House, settings};

const SCRIPT: &str = "#!/bin/sh\nserve\n";

fn request(gpus: GpuRequest) -> Request {
    Request { gpus: Some(gpus), ..Request::default() }
}

/// A service of two replicas with two GPUs each.
fn made(change: impl FnOnce(&mut ServiceSpec)) -> Deployment {
    let mut made = deployment("chat", SCRIPT, |spec| {
        spec.port = Some(8000);
        spec.roles[0].replicas.min = 2;
        spec.roles[0].ask.request = request(GpuRequest::PerNode(Gpus(2)));
    });
    change(&mut made.spec);
    made
}

/// Queue `main` has a quota of five GPUs.
fn house(mode: QuotaMode, at_most: Amounts) -> House {
    let mut house = House::new();
    let mut settings = settings();
    let amounts = Amounts { gpus_any: Some(Gpus(5)), ..Amounts::default() };
    settings.queues[0].share_gpus = true;
    settings.queues[0].quota = Quota { amounts, mode, at_most };
    house.apply(Command::Configure(settings));
    house
}

fn shared() -> House {
    house(QuotaMode::Shared, Amounts::default())
}

/// The service runs with its two replicas, as its last update wanted them.
fn deployed() -> House {
    let mut house = shared();
    house.apply(Command::DeployService(Box::new(made(|_| {}))));
    start(&mut house, 1);
    end_update(&mut house, 1);
    house
}

fn start(house: &mut House, revision: u32) {
    let place = |number| ReplicaPlace { role: "worker".parse().unwrap(), ordinal: Ordinal(number) };
    house.apply(Command::StartReplicas {
        service: "chat".parse().unwrap(),
        revision: Revision(revision),
        places: vec![place(0), place(1)],
    });
}

fn end_update(house: &mut House, revision: u32) {
    house.apply(Command::EndUpdate {
        service: "chat".parse().unwrap(),
        revision: Revision(revision),
        failure: None,
    });
}

fn plan(house: &House, change: impl FnOnce(&mut ServiceSpec)) -> Vec<String> {
    deployment_plan(&house.state, &made(change)).unwrap().plan
}

#[test]
fn a_new_service_needs_its_fewest_replicas() {
    let first = "role worker: 2 replicas would be started";
    let needs = "queue main: needs room for 4 GPUs, 2 CPUs, 2G of memory more";
    assert_eq!(plan(&shared(), |_| {}), [first, needs]);
    let three = |spec: &mut ServiceSpec| spec.roles[0].replicas.min = 3;
    let over = |then: &str, what: &str| {
        format!("queue main: holds 0, and 6 more exceed its {what} of 5 GPUs: {then}")
    };
    let borrowed = over("the rest is borrowed, and may be taken back", "quota");
    assert_eq!(plan(&shared(), three)[2], borrowed);
    let isolated = house(QuotaMode::Isolated, Amounts::default());
    assert_eq!(plan(&isolated, three)[2], over("it would wait", "quota"));
    let most = Amounts { gpus_any: Some(Gpus(5)), ..Amounts::default() };
    let limited = house(QuotaMode::Shared, most);
    assert_eq!(plan(&limited, three)[2], over("it would wait", "at_most"));
}

#[test]
fn parts_of_gpus_count_as_parts() {
    let parts = GpuParts { devices: Gpus(1), each: PartSize::Milli(GpuMilli(500)) };
    let lines = plan(&shared(), |spec| {
        spec.roles[0].ask.request = request(GpuRequest::Parts(parts));
        spec.roles[0].replicas.min = 3;
    });
    assert_eq!(lines[1..], ["queue main: needs room for 1.5 GPUs, 3 CPUs, 3G of memory more"]);
}

#[test]
fn the_same_specification_changes_nothing_once_its_update_is_over() {
    let house = deployed();
    let answer = deployment_plan(&house.state, &made(|_| {})).unwrap();
    assert_eq!((answer.revision.0, &answer.plan[..]), (1, &["nothing would change".into()][..]));
    let mut updating = shared();
    updating.apply(Command::DeployService(Box::new(made(|_| {}))));
    start(&mut updating, 1);
    let lines = plan(&updating, |_| {});
    assert_eq!(lines, ["role worker: 2 replicas would stay", "the update to revision 1 would end"]);
}

#[test]
fn keys_of_the_service_change_without_new_replicas() {
    let lines = plan(&deployed(), |spec| {
        spec.port = Some(8001);
        spec.hold = Hold { requests_max: 7, ..spec.hold };
    });
    let keys = "would change without new replicas: port (8000 to 8001), hold";
    assert_eq!(lines, ["role worker: 2 replicas would stay", keys]);
}

#[test]
fn an_update_needs_room_for_what_it_adds() {
    let later = |spec: &mut ServiceSpec| spec.drain_delay = Span::from_seconds(1);
    let replaced = "role worker: 2 replicas would be replaced, 1 at a time";
    let one_more = "queue main: needs room for 2 GPUs, 1 CPU, 1G of memory more";
    let beyond = format!("{replaced} and up to 1 beyond the wanted number");
    assert_eq!(plan(&deployed(), later), [&beyond, one_more]);
    let none = plan(&deployed(), |spec| {
        later(spec);
        spec.update.max_surge = 0;
    });
    assert_eq!(none, [replaced, "would change without new replicas: update"]);
    let canary = plan(&deployed(), |spec| {
        later(spec);
        spec.update.canary = 2;
    });
    assert_eq!(canary[0], format!("{beyond}; 2 first, the rest after a promotion"));
    assert_eq!(canary[2], "queue main: needs room for 4 GPUs, 2 CPUs, 2G of memory more");
    let larger = plan(&deployed(), |spec| {
        spec.roles[0].ask.request = request(GpuRequest::PerNode(Gpus(3)));
    });
    assert_eq!(larger[1], "queue main: needs room for 5 GPUs, 1 CPU, 1G of memory more");
}

#[test]
fn other_bounds_start_and_stop_replicas() {
    let more = plan(&deployed(), |spec| spec.roles[0].replicas.min = 3);
    assert!(more[0].starts_with("role worker: 2 replicas would be replaced, "), "{more:?}");
    assert!(more[0].ends_with("; 1 replica would be started"), "{more:?}");
    let bounds = common::service::Bounds { min: 1, max: 1 };
    let fewer = plan(&deployed(), |spec| spec.roles[0].replicas = bounds);
    assert!(fewer[0].ends_with("; 1 replica would be stopped"), "{fewer:?}");
    let renamed = plan(&deployed(), |spec| spec.roles[0].name = "decode".parse().unwrap());
    assert_eq!(renamed[0], "role decode: 2 replicas would be started");
    assert_eq!(renamed[1], "role worker: its replicas would be stopped");
}

#[test]
fn replicas_of_an_earlier_revision_stay_if_they_are_as_wanted() {
    let mut house = deployed();
    let later = made(|spec| spec.drain_delay = Span::from_seconds(1));
    house.apply(Command::DeployService(Box::new(later)));
    let lines = plan(&house, |_| {});
    assert_eq!(lines, ["role worker: 2 replicas would stay", "the update to revision 2 would end"]);
}

#[test]
fn what_would_be_refused_is_refused() {
    let house = deployed();
    let mut other = made(|_| {});
    other.name = "other".parse().unwrap();
    let refusal = deployment_plan(&house.state, &other).unwrap_err();
    assert!(refusal.to_string().contains("port 8000"), "{refusal}");
    let protocol = made(|spec| spec.protocol = common::service::table::Protocol::H2c);
    let refusal = deployment_plan(&house.state, &protocol).unwrap_err();
    assert!(refusal.to_string().contains("`protocol`"), "{refusal}");
}
