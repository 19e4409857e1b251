//! Each mistake that a specification can have.

use super::*;
use crate::autoscale::{self, Fraction, Policy, RatioBand, Replicas};
use crate::blob::BlobHash;
use crate::job::{Ask, Probes};
use crate::service::table::{Hold, Protocol};
use crate::service::{Bounds, RatioSpec, UpdatePolicy};
use crate::topology::Level;

fn role(name: &str) -> RoleSpec {
    RoleSpec {
        name: RoleName::new(name).unwrap(),
        ask: Ask::default(),
        script: BlobHash::of(b"#!/bin/sh\n"),
        environment: BlobHash::of(b""),
        replicas: Bounds { min: 1, max: 2 },
        ports: vec![PortName::new("http").unwrap()],
        probes: Probes::default(),
        metrics: None,
        autoscale: None,
    }
}

fn spec(roles: Vec<RoleSpec>) -> ServiceSpec {
    let update = UpdatePolicy::default();
    ServiceSpec {
        roles,
        port: None,
        entry: None,
        ratio: None,
        affinity: None,
        hold: Hold::default(),
        base: Base::default(),
        near: None,
        protocol: Protocol::default(),
        token: None,
        drain_delay: Span(0),
        update,
    }
}

/// A policy with the bounds of the roles here.
fn policy(rule: Rule) -> Policy {
    let bounds = autoscale::Bounds { min: Replicas(1), max: Replicas(2) };
    Policy::new(bounds, rule)
}

fn problem(change: impl FnOnce(&mut ServiceSpec)) -> String {
    let mut changed = spec(vec![role("worker"), role("router")]);
    assert_eq!(check_spec(&changed), Ok(()));
    change(&mut changed);
    check_spec(&changed).unwrap_err().to_string()
}

#[test]
fn each_mistake_in_a_specification_is_named() {
    let http = |port: &str, path: &str| {
        let (port, path) = (PortName::new(port).unwrap(), path.to_owned());
        Some(Probe::new(ProbeAction::Http { port, path }))
    };
    assert!(problem(|s| s.roles.clear()).contains("needs 1 to 16 roles"));
    assert!(problem(|s| s.roles[1] = role("worker")).contains("two roles are called worker"));
    assert!(problem(|s| s.roles[0].replicas.min = 3).contains("min 3 is more than max 2"));
    assert!(problem(|s| s.roles[0].replicas.max = 10_001).contains("at most 10000"));
    assert!(problem(|s| s.roles[0].probes.liveness = http("grpc", "/")).contains("not declared"));
    assert!(problem(|s| s.roles[0].probes.startup = http("http", "x")).contains("begin with /"));
    assert!(problem(|s| s.roles[0].ask.hold = true).contains("--hold"));
    assert!(problem(|s| s.entry = RoleName::new("decode").ok()).contains("decode"));
    assert!(problem(|s| s.port = Some(80)).contains("1024"));
    assert!(problem(|s| s.near = Some(Level::Leaf)).contains("base = \"gang\""));
    let twice = problem(|s| s.roles[1].ports.push(PortName::new("http").unwrap()));
    assert!(twice.contains("role router: two ports are called http"), "{twice}");
    assert!(problem(|s| s.update.max_parallel = 0).contains("max_parallel"));
    assert!(problem(|s| s.update.max_surge = 2).contains("max_surge"));
    assert!(problem(|s| s.drain_delay = Span::from_minutes(3000)).contains("drain_delay"));
    assert!(
        problem(|s| {
            s.roles.iter_mut().for_each(|role| role.ports.clear());
            s.port = Some(8080);
        })
        .contains("add `ports`")
    );
    assert!(
        problem(|s| {
            let mut probe = http("http", "/");
            probe.iter_mut().for_each(|probe| probe.period = Span(0));
            s.roles[0].probes.readiness = probe;
        })
        .contains("above zero")
    );
}

#[test]
fn policies_need_something_to_measure_and_a_ratio_two_roles_with_policies() {
    let waiting = || policy(Rule::Queue(autoscale::Queue::default()));
    let unmeasured = problem(|s| s.roles[0].autoscale = Some(waiting()));
    assert!(unmeasured.contains("role worker: ") && unmeasured.contains("metrics = \"/metrics\""));
    let ratio = |decode: &str| RatioSpec {
        prefill: RoleName::new("worker").unwrap(),
        decode: RoleName::new(decode).unwrap(),
        band: RatioBand { min: Fraction(250), max: Fraction(500) },
    };
    let with = |both: bool, decode: &'static str| {
        problem(|s| {
            let roles = if both { &mut s.roles[..] } else { &mut s.roles[..1] };
            roles.iter_mut().for_each(|role| role.autoscale = Some(policy(Rule::Fixed)));
            s.ratio = Some(ratio(decode));
        })
    };
    assert!(with(false, "router").ends_with("policy: router"));
    assert!(with(true, "decode").ends_with("policy: decode"));
    assert!(with(true, "worker").ends_with("policy: worker"), "a role has no ratio to itself");
}
