//! Decisions from the reports of routers, enacted on a real state.

use super::*;
use common::autoscale::{Fraction, RatioBand};
use common::job::MetricsSource;
use common::service::load::ServiceLoad;
use common::service::{Bounds, RatioSpec, RoleSpec};
use testkit::house::House;

/// A service with a policy of two requests in flight for each replica, between 0 and 4 replicas.
fn deployed() -> House {
    let policy = serde_json::json!({"min": 0, "max": 4, "concurrency": {"target": 2}});
    let deployment = testkit::deployment("chat", "#!/bin/sh\nserve\n", |spec| {
        spec.port = Some(8000);
        spec.roles[0].replicas = Bounds { min: 0, max: 4 };
        spec.roles[0].autoscale = Some(serde_json::from_value(policy).unwrap());
    });
    let mut house = House::new();
    house.apply(Command::DeployService(Box::new(deployment)));
    house
}

fn load(in_flight: u64, held: u64) -> RouterLoad {
    let (service, requests) = ("chat".to_owned(), in_flight);
    let load = ServiceLoad { service, in_flight, held, requests, endpoints: Vec::new() };
    RouterLoad { services: vec![load], ..RouterLoad::default() }
}

/// The wanted replicas after this long under this load.
fn wanted_after(house: &mut House, autoscaler: &mut Autoscaler, seconds: u64, load: &RouterLoad) {
    let node = testkit::name("g1");
    for _ in 0..seconds / 2 {
        autoscaler.note_router_load(&node, load.clone(), house.now);
        let local = LocalTime::utc(house.now);
        let commands = autoscaler.decide(&house.state, &Readiness::default(), house.now, local);
        commands.into_iter().for_each(|command| drop(house.apply(command)));
        house.wait(2);
    }
}

fn wanted(house: &House) -> u32 {
    let service = house.state.service(&"chat".parse().unwrap()).unwrap();
    service.wanted(&"worker".parse().unwrap())
}

#[test]
fn a_held_request_starts_a_replica_and_an_idle_service_goes_back_to_none() {
    let (mut house, mut autoscaler) = (deployed(), Autoscaler::default());
    assert_eq!(wanted(&house), 0);
    assert!(!autoscaler.note_router_load(&testkit::name("g1"), load(0, 0), house.now));
    assert!(
        autoscaler.note_router_load(&testkit::name("g1"), load(1, 1), house.now),
        "it is answered at once"
    );
    wanted_after(&mut house, &mut autoscaler, 2, &load(1, 1));
    assert_eq!(wanted(&house), 1);
    let service = house.state.service(&"chat".parse().unwrap()).unwrap();
    let last = service.events.last().unwrap().kind.to_string();
    assert!(last.starts_with("role worker scaled from 0 to 1 replicas: "), "{last}");
    wanted_after(&mut house, &mut autoscaler, 300, &load(0, 0));
    assert_eq!(wanted(&house), 0);
}

#[test]
fn load_from_all_routers_counts_and_a_silent_router_does_not() {
    let (mut house, mut autoscaler) = (deployed(), Autoscaler::default());
    let other = testkit::name("g2");
    autoscaler.note_router_load(&other, load(2, 2), house.now);
    wanted_after(&mut house, &mut autoscaler, 4, &load(2, 2));
    assert_eq!(wanted(&house), 3, "4 held, 2 for each replica at 70 %");
    house.wait(60);
    // Only one reports from here on.
    wanted_after(&mut house, &mut autoscaler, 300, &load(1, 1));
    assert_eq!(wanted(&house), 1);
}

#[test]
fn without_any_report_the_number_of_replicas_stays() {
    let (mut house, mut autoscaler) = (deployed(), Autoscaler::default());
    wanted_after(&mut house, &mut autoscaler, 10, &load(4, 4));
    let before = wanted(&house);
    assert!(before > 0);
    autoscaler.clear();
    for _ in 0..300 {
        house.wait(2);
        let local = LocalTime::utc(house.now);
        let commands = autoscaler.decide(&house.state, &Readiness::default(), house.now, local);
        assert_eq!(commands, [], "nothing is known");
    }
    assert_eq!(wanted(&house), before);
}

/// A service whose router role gets the requests, with prefill and decode behind it.
fn prefill_and_decode() -> House {
    let policy = serde_json::json!({"min": 0, "max": 8, "concurrency": {"target": 2}});
    let deployment = testkit::deployment("chat", "#!/bin/sh\nserve\n", |spec| {
        spec.port = Some(8000);
        let role = &mut spec.roles[0];
        role.ports = vec!["http".parse().unwrap()];
        role.replicas = Bounds { min: 0, max: 8 };
        role.autoscale = Some(serde_json::from_value(policy).unwrap());
        role.metrics =
            Some(MetricsSource { port: "http".parse().unwrap(), path: "/metrics".to_owned() });
        for name in ["prefill", "decode"] {
            let role = RoleSpec { name: name.parse().unwrap(), ..spec.roles[0].clone() };
            spec.roles.push(role);
        }
        spec.ratio = Some(RatioSpec {
            prefill: "prefill".parse().unwrap(),
            decode: "decode".parse().unwrap(),
            band: RatioBand { min: Fraction(250), max: Fraction(500) },
        });
    });
    let mut house = House::new();
    house.apply(Command::DeployService(Box::new(deployment)));
    house
}

#[test]
fn roles_that_need_each_other_wake_together_and_go_to_zero_together() {
    let (mut house, mut autoscaler) = (prefill_and_decode(), Autoscaler::default());
    let wanted = |house: &House| {
        let service = house.state.service(&"chat".parse().unwrap()).unwrap();
        ["worker", "prefill", "decode"].map(|role| service.wanted(&role.parse().unwrap()))
    };
    assert_eq!(wanted(&house), [0, 0, 0]);
    wanted_after(&mut house, &mut autoscaler, 2, &load(1, 1));
    assert_eq!(wanted(&house), [1, 1, 2], "at most one prefill for two decode replicas");
    wanted_after(&mut house, &mut autoscaler, 300, &load(0, 0));
    assert_eq!(wanted(&house), [0, 0, 0]);
    let service = house.state.service(&"chat".parse().unwrap()).unwrap();
    let events: Vec<String> = service.events.iter().map(|one| one.kind.to_string()).collect();
    let ratio = "2 replicas for the ratio to the other role";
    assert!(events.iter().any(|event| event.ends_with(ratio)), "{events:#?}");
}
