//! The specification of a service as its users change it from revision to revision.

use super::replica::Kind;
use super::{ServiceAct, Text, no_environment};
use crate::rng::Rng;
use common::autoscale::{
    self, Fraction, PerReplica, Policy, RatioBand, Replicas, RequestRate, Requests, Rule,
};
use common::blob::BlobHash;
use common::id::{QueueName, RoleName};
use common::job::{Ask, Probe, ProbeAction, Probes};
use common::resource::{Apart, Request, Spread};
use common::service::table::{Hold, Protocol};
use common::service::{Base, Bounds, RatioSpec, RoleSpec, ServiceSpec, UpdatePolicy};
use common::time::Span;
use common::topology::Level;
use common::unit::Cpus;
use state::ServiceAction;

/// The number of replicas of a role at most.
const REPLICAS_MAX: u64 = 3;
/// The number of replicas that an update adds at most.
const SURGE_MAX: u64 = 2;

/// What the next revision is made from.
pub struct Draft {
    /// The next revisions work.
    pub is_sound: bool,
    number: u32,
    spec: ServiceSpec,
    /// The script of each role.
    scripts: Vec<String>,
}

impl Draft {
    /// A service of one or two roles, for a cluster of this number of nodes.
    pub fn draw(service: usize, nodes: usize, rng: &mut Rng) -> Self {
        let names = ["front", "back"];
        let count = if rng.percent(40) { 2 } else { 1 };
        let roles = names.iter().take(count).map(|name| random_role(name, nodes, rng)).collect();
        let mut spec = ServiceSpec {
            roles,
            port: u16::try_from(8_000 + service).ok(),
            entry: None,
            ratio: None,
            near: None,
            protocol: Protocol::default(),
            affinity: None,
            base: if rng.percent(30) { Base::Gang } else { Base::Single },
            hold: Hold::default(),
            token: None,
            drain_delay: Span(if rng.percent(75) { rng.between(300, 2_500) } else { 0 }),
            update: UpdatePolicy::default(),
        };
        if rng.percent(20) {
            spec.port = None;
        }
        // From a copy, so that all other draws of a seed stay as they were.
        let mut copy = rng.clone();
        if spec.base == Base::Gang && copy.percent(50) {
            spec.near = Some(Level::Leaf);
        }
        if spec.roles.iter().any(|role| role.autoscale.is_some()) && copy.percent(60) {
            spec.ratio = random_ratio(&mut spec.roles, &mut copy);
        }
        spec.update = random_update(rng);
        let scripts = vec![String::new(); spec.roles.len()];
        Self { is_sound: false, number: 0, spec, scripts }
    }

    /// The next revision, of which a third does not work unless it must.
    pub fn next_text(&mut self, rng: &mut Rng) -> Text {
        self.number += 1;
        let kind = match rng.below(if self.is_sound { 70 } else { 100 }) {
            0..70 => Kind::Works,
            70..85 => Kind::NeverReady,
            _ => Kind::Crashes,
        };
        if rng.percent(40) {
            self.spec.update = random_update(rng);
        }
        if rng.percent(25) {
            self.spec.drain_delay = Span(rng.between(300, 2_500));
        }
        let script = kind.script(self.number);
        let changed = rng.place(self.spec.roles.len());
        let is_first = self.number == 1;
        for (place, role) in self.spec.roles.iter_mut().enumerate() {
            // A role that does not change keeps its replicas.
            if is_first || self.is_sound || place == changed || rng.percent(50) {
                role.script = BlobHash::of(script.as_bytes());
                self.scripts[place].clone_from(&script);
            }
            if rng.percent(20) {
                change_bounds(role, rng);
            }
        }
        Text { spec: self.spec.clone(), scripts: self.scripts.clone() }
    }

    /// Another number of replicas of a role.
    pub fn scale(&self, rng: &mut Rng) -> ServiceAct {
        let role = rng.one(&self.spec.roles).unwrap_or(&self.spec.roles[0]);
        let bounds = role.replicas;
        let replicas = rng.between(bounds.min.into(), bounds.max.into());
        let replicas = u32::try_from(replicas).unwrap_or(bounds.min);
        ServiceAct::Act(ServiceAction::Scale { role: role.name.clone(), replicas })
    }
}

fn random_role(name: &str, nodes: usize, rng: &mut Rng) -> RoleSpec {
    let name: RoleName = name.parse().expect("a valid name");
    let is_front = name.as_str() == "front";
    let ask = Ask {
        request: Request {
            cpus_per_task: Cpus(1),
            apart: random_apart(nodes, rng),
            ..Request::default()
        },
        queue: if rng.percent(20) { QueueName::new("spare").ok() } else { None },
        ..Ask::default()
    };
    let line = "true".to_owned();
    let probe = || Some(Probe::new(ProbeAction::Command { line: line.clone() }));
    let mut role = RoleSpec {
        name,
        ask,
        script: no_environment(),
        environment: no_environment(),
        replicas: Bounds { min: 1, max: 1 },
        ports: if is_front { vec!["http".parse().expect("a valid name")] } else { Vec::new() },
        probes: Probes {
            startup: if rng.percent(25) { probe() } else { None },
            readiness: if is_front || rng.percent(50) { probe() } else { None },
            liveness: if rng.percent(50) { probe() } else { None },
            startup_max: Span(rng.between(4_000, 8_000)),
        },
        metrics: None,
        autoscale: None,
    };
    change_bounds(&mut role, rng);
    if is_front && rng.percent(40) {
        role.autoscale = Some(random_policy(role.replicas, rng));
    }
    role
}

/// The second role follows the first one, which has a policy.
fn random_ratio(roles: &mut [RoleSpec], rng: &mut Rng) -> Option<RatioSpec> {
    let [front, back] = roles else { return None };
    let bounds = back.replicas;
    let bounds = autoscale::Bounds { min: Replicas(bounds.min), max: Replicas(bounds.max) };
    back.autoscale = Some(Policy::new(bounds, Rule::Fixed));
    let least = rng.between(250, 1_000);
    let band = RatioBand { min: Fraction(least), max: Fraction(least + rng.below(1_000)) };
    Some(RatioSpec { prefill: back.name.clone(), decode: front.name.clone(), band })
}

/// How the replicas of a role keep apart, the same in all revisions. The bound leaves room for an
/// update with one node out of service.
fn random_apart(nodes: usize, rng: &mut Rng) -> Option<Apart> {
    let replicas = usize::try_from(REPLICAS_MAX + SURGE_MAX).unwrap_or(usize::MAX);
    let bound = u32::try_from(replicas.div_ceil(nodes.saturating_sub(1).max(1))).ok();
    let per_node_max = bound.filter(|_| rng.percent(40));
    let spread = *rng.one(&[None, Some(Spread::Node), Some(Spread::Leaf)]).unwrap_or(&None);
    Some(Apart { per_node_max, spread, ..Apart::default() })
}

fn change_bounds(role: &mut RoleSpec, rng: &mut Rng) {
    let min = if rng.percent(10) { 0 } else { rng.between(1, 2) };
    let max = rng.between(min.max(1), REPLICAS_MAX);
    let number = |count: u64| u32::try_from(count).unwrap_or(1);
    role.replicas = Bounds { min: number(min), max: number(max) };
    if let Some(policy) = &mut role.autoscale {
        (policy.min, policy.max) = (Replicas(role.replicas.min), Replicas(role.replicas.max));
    }
}

fn random_policy(bounds: Bounds, rng: &mut Rng) -> Policy {
    let target = Requests::whole(u32::try_from(rng.between(2, 5)).unwrap_or(2));
    let (stable, panic) = (Span(rng.between(4_000, 10_000)), Span(rng.between(2_000, 4_000)));
    let rule = if rng.percent(70) {
        let rule = PerReplica::new(target);
        Rule::Concurrency(PerReplica { stable_seconds: stable, panic_seconds: panic, ..rule })
    } else {
        let rule = PerReplica::new(RequestRate(target.0));
        Rule::Rps(PerReplica { stable_seconds: stable, panic_seconds: panic, ..rule })
    };
    let bounds = autoscale::Bounds { min: Replicas(bounds.min), max: Replicas(bounds.max) };
    Policy { zero_grace: Span(5_000), ..Policy::new(bounds, rule) }
}

/// How replicas are replaced, faster than any user would want.
fn random_update(rng: &mut Rng) -> UpdatePolicy {
    let parallel = rng.between(1, SURGE_MAX);
    let number = |count: u64| u32::try_from(count).unwrap_or(1);
    UpdatePolicy {
        max_parallel: number(parallel),
        max_surge: number(rng.below(parallel + 1)),
        canary: number(u64::from(rng.percent(25))),
        min_healthy: Span(rng.below(2_500)),
        healthy_deadline: Span(rng.between(8_000, 15_000)),
        progress_deadline: Span(rng.between(25_000, 45_000)),
        auto_revert: rng.percent(70),
    }
}
