//! Explanations of a real state.

use super::*;
use common::id::{JobKey, NodeName, RoleName};
use common::service::Bounds;
use common::service::load::{RouterLoad, ServiceLoad};
use state::{Command, ServiceAction};
use testkit::house::{House, USER};

/// A service between 1 and 4 replicas.
fn deployed(policy: Option<serde_json::Value>) -> House {
    let deployment = testkit::deployment("chat", "#!/bin/sh\nserve\n", |spec| {
        spec.port = Some(8000);
        spec.roles[0].replicas = Bounds { min: 1, max: 4 };
        spec.roles[0].autoscale = policy.map(|policy| serde_json::from_value(policy).unwrap());
    });
    let mut house = House::new();
    house.apply(Command::DeployService(Box::new(deployment)));
    house
}

fn explained(house: &House, autoscaler: &Autoscaler) -> RoleExplanation {
    let service = house.state.service(&"chat".parse().unwrap()).unwrap();
    let scaled_by = |role: &RoleName| Some(autoscaler.reason(&service.name, role)?.to_string());
    let names = Names {
        user: &|uid| format!("u{uid}"),
        waits_for: &|_: JobKey| Some("it is next".to_owned()),
        scaled_by: &scaled_by,
    };
    let (readiness, local) = (super::super::Readiness::default(), LocalTime::utc(house.now));
    let all = explain(&house.state, service, &readiness, autoscaler, &names, (house.now, local));
    all.roles.into_iter().next().unwrap()
}

#[test]
fn it_says_who_set_the_number_and_what_is_missing() {
    let (mut house, autoscaler) = (deployed(None), Autoscaler::default());
    assert_eq!(explained(&house, &autoscaler).set, (None, "`min` of role worker".to_owned()));
    let action = ServiceAction::Scale { role: "worker".parse().unwrap(), replicas: 2 };
    let name = "chat".parse().unwrap();
    house.apply(Command::ActOnService { actor: USER, name, action });
    let ordinal = common::id::Ordinal(0);
    let start = Command::StartReplicas {
        service: "chat".parse().unwrap(),
        revision: common::id::Revision(1),
        places: vec![state::ReplicaPlace { role: "worker".parse().unwrap(), ordinal }],
    };
    house.apply(start);
    let now = explained(&house, &autoscaler);
    assert_eq!(now.set, (Some(house.now), format!("by user u{}", USER.uid.0)));
    assert_eq!(
        now.missing,
        ["worker.0: job 1 waits: it is next (`kantctl explain 1`)", "worker.1: not submitted yet"]
    );
    assert_eq!((now.measured, now.outlook), (None, None), "it has no policy");
}

#[test]
fn it_shows_the_load_and_what_would_change_the_number() {
    let policy = serde_json::json!({"min": 1, "max": 4, "concurrency": {"target": 2}});
    let (mut house, mut autoscaler) = (deployed(Some(policy)), Autoscaler::default());
    assert_eq!(explained(&house, &autoscaler).measured.as_deref(), Some("nothing yet"));
    let service =
        ServiceLoad { service: "chat".to_owned(), in_flight: 3, held: 3, ..ServiceLoad::default() };
    let load = RouterLoad { services: vec![service], ..RouterLoad::default() };
    autoscaler.note_router_load(&NodeName::new("g1").unwrap(), load, house.now);
    let (readiness, local) = (super::super::Readiness::default(), LocalTime::utc(house.now));
    for command in autoscaler.decide(&house.state, &readiness, house.now, local) {
        house.apply(command);
    }
    let now = explained(&house, &autoscaler);
    assert_eq!(now.wanted, 3);
    assert!(now.set.1.starts_with("by its policy: 3 requests in flight"), "{:?}", now.set);
    assert_eq!(
        now.measured.as_deref(),
        Some("0 requests in flight, 3 held, 0 requests per second")
    );
    let outlook = now.outlook.unwrap();
    assert_eq!(outlook.more, "above 4.2 requests in flight, as a mean over 60 s");
    assert_eq!(outlook.fewer, "with 2.8 requests in flight or less, over 60 s");
}
