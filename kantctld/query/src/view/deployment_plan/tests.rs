//! Plans of deployments: what they say for each kind of change.

use super::*;
use common::policy::Quota;
use common::resource::{GpuRequest, Request};
use common::service::table::Hold;
use state::Command;
use testkit::deployment;
use testkit::house::{House, settings};

const SCRIPT: &str = "#!/bin/sh\nserve\n";

/// A service of two replicas with two GPUs each, in a queue with a quota of five.
fn deployed(change: impl FnOnce(&mut ServiceSpec)) -> Deployment {
    let mut made = deployment("chat", SCRIPT, |spec| {
        spec.port = Some(8000);
        spec.roles[0].replicas.min = 2;
        spec.roles[0].ask.request =
            Request { gpus: Some(GpuRequest::PerNode(Gpus(2))), ..Request::default() };
    });
    change(&mut made.spec);
    made
}

fn house() -> House {
    let mut house = House::new();
    let mut settings = settings();
    let amounts = Amounts { gpus_any: Some(Gpus(5)), ..Amounts::default() };
    settings.queues[0].quota = Quota { amounts, ..Quota::default() };
    house.apply(Command::Configure(settings));
    house
}

fn plan(house: &House, change: impl FnOnce(&mut ServiceSpec)) -> (u32, Vec<String>) {
    let answer = deployment_plan(&house.state, &deployed(change)).unwrap();
    (answer.revision.0, answer.plan)
}

#[test]
fn a_new_service_needs_its_fewest_replicas() {
    let lines = [
        "role worker: 2 replicas would be started",
        "queue main: needs room for 4 GPUs, 2 CPUs more",
        "queue main: 0 + 4 of 5 GPUs: within its quota",
    ];
    assert_eq!(plan(&house(), |_| {}), (1, lines.map(str::to_owned).to_vec()));
    let (_, more) = plan(&house(), |spec| spec.roles[0].replicas.min = 3);
    assert_eq!(more[2], "queue main: 0 + 6 of 5 GPUs: more than its quota");
}

#[test]
fn the_same_specification_changes_nothing() {
    let mut house = house();
    house.apply(Command::DeployService(Box::new(deployed(|_| {}))));
    house.apply(Command::EndUpdate {
        service: "chat".parse().unwrap(),
        revision: common::id::Revision(1),
        failure: None,
    });
    assert_eq!(plan(&house, |_| {}), (1, vec!["nothing would change".to_owned()]));
}

#[test]
fn keys_of_the_service_change_without_new_replicas() {
    let mut house = house();
    house.apply(Command::DeployService(Box::new(deployed(|_| {}))));
    let (revision, lines) = plan(&house, |spec| {
        spec.port = Some(8001);
        spec.hold = Hold { requests_max: 7, ..spec.hold };
    });
    let expected = [
        "role worker: its replicas would stay",
        "would change at once, without new replicas: port (8000 to 8001), hold",
    ];
    assert_eq!((revision, lines), (2, expected.map(str::to_owned).to_vec()));
}

#[test]
fn an_update_needs_room_for_what_it_adds() {
    let mut house = house();
    house.apply(Command::DeployService(Box::new(deployed(|_| {}))));
    let (_, lines) = plan(&house, |spec| spec.drain_delay = common::time::Span::from_seconds(1));
    let replaced = "role worker: 2 replicas would be replaced, 1 at a time, with up to 1 beyond \
                    the wanted number";
    assert_eq!(lines[..2], [replaced, "queue main: needs room for 2 GPUs, 1 CPUs more"]);
    let renamed = plan(&house, |spec| spec.roles[0].name = "decode".parse().unwrap()).1;
    assert!(renamed.contains(&"role worker: its replicas would be stopped".to_owned()));
}

#[test]
fn what_would_be_refused_is_refused() {
    let mut house = house();
    house.apply(Command::DeployService(Box::new(deployed(|_| {}))));
    let mut other = deployed(|_| {});
    other.name = "other".parse().unwrap();
    let refusal = deployment_plan(&house.state, &other).unwrap_err();
    assert!(refusal.to_string().contains("port 8000"), "{refusal}");
}
