//! The lines about services: `service`, `deploy`, `scale`, `promote`, `rollback`, `stop` and
//! `load`.

use super::words::Words;
use super::{Failed, Stage, ask, config};
use crate::behaviour::Behaviour;
use common::autoscale::{Bounds as PolicyBounds, Days, Hours, Minute, Policy, Replicas, Rule};
use common::blob::BlobHash;
use common::id::{PortName, RoleName, ServiceName};
use common::job::{Ask, Probe, ProbeAction, Probes};
use common::reason::Refusal;
use common::resource::{Apart, Spread};
use common::service::table::{Hold, Protocol};
use common::service::{Base, Bounds, RoleSpec, ServiceSpec, UpdatePolicy};
use common::time::Span;
use state::{Actor, Command, Deployment, ServiceAction, snapshot};

/// The lines that this module reads.
pub(super) const VERBS: [&str; 7] =
    ["service", "deploy", "scale", "promote", "rollback", "stop", "load"];

/// The time until the probes of a replica succeed, if a line names none.
const READY_AFTER: Span = Span::from_seconds(20);

/// The time between leaving the discovery and SIGTERM, as in `kantctl service deploy`.
const DRAIN_DELAY: Span = Span::from_seconds(5);

impl Stage {
    pub(super) fn run_service_line(
        &mut self,
        verb: &str,
        words: &mut Words,
    ) -> Result<Option<String>, Failed> {
        let name: ServiceName = words.take_plain("the name of a service")?;
        let action = match verb {
            "service" => {
                self.services.insert(name.clone(), words.clone());
                return self.deploy(name, words);
            }
            "deploy" => {
                let first = self.services.get(&name);
                let first = first.ok_or_else(|| format!("there was no line `service {name}`"))?;
                words.add_missing(first);
                return self.deploy(name, words);
            }
            "load" => {
                let in_flight = words.take_plain("the number of requests in flight")?;
                words.check_empty()?;
                self.cluster()?.set_load(name, in_flight);
                return Ok(None);
            }
            "scale" => {
                let replicas = words.take_plain("the number of replicas")?;
                ServiceAction::Scale { role: role_name(), replicas }
            }
            "promote" => ServiceAction::Promote,
            "rollback" => ServiceAction::RollBack { to: None },
            _ => ServiceAction::Stop,
        };
        words.check_empty()?;
        let actor = Actor::operator(common::id::Uid(0));
        self.cluster()?.command(Command::ActOnService { actor, name, action })?;
        Ok(None)
    }

    fn deploy(&mut self, name: ServiceName, words: &mut Words) -> Result<Option<String>, Failed> {
        let user = words.value::<String>("user")?.unwrap_or_else(|| "ada".to_owned());
        // Each deployment has a script of its own, and so is another revision.
        self.deployments += 1;
        let script = format!("#!/bin/sh\nserve {}\n", self.deployments);
        let behaviour = behaviour(words)?;
        let spec = spec(words, &script)?;
        words.check_empty()?;
        let cluster = self.cluster()?;
        // The leader does this before it proposes a deployment.
        let (state, seen) = (cluster.state(), cluster.snapshot());
        let mut never = spec.roles.iter().map(|role| snapshot::never_fits(state, seen, &role.ask));
        if let Some(refusal) = never.find_map(|refusal| refusal) {
            return Ok(Some(refused(&refusal)));
        }
        let deployment = Deployment {
            owner: config::owner(&user),
            groups: Vec::new(),
            operator: false,
            via: None,
            name,
            spec,
            texts: vec![script, String::new()],
        };
        cluster.deploy(deployment, behaviour)?;
        Ok(None)
    }
}

fn refused(refusal: &Refusal) -> String {
    format!("refused: {}", refusal.text_with_hint())
}

/// Every service of a scenario has one role.
fn role_name() -> RoleName {
    "worker".parse().expect("a name of a role")
}

fn behaviour(words: &mut Words) -> Result<Behaviour, String> {
    let ready_after: Span = words.value("ready")?.unwrap_or(READY_AFTER);
    let crash = words.value("crash")?;
    Ok(Behaviour {
        run: crash,
        exit_code: u8::from(crash.is_some()),
        ready_after: (!words.flag("broken")).then_some(ready_after),
        ..Behaviour::default()
    })
}

fn spec(words: &mut Words, script: &str) -> Result<ServiceSpec, String> {
    let min = words.value("min")?.unwrap_or(1);
    let max = words.value("max")?.unwrap_or(min);
    let port: PortName = "http".parse().expect("a name of a port");
    let health = ProbeAction::Http { port: port.clone(), path: "/health".to_owned() };
    let role = RoleSpec {
        name: role_name(),
        metrics: None,
        autoscale: policy(words, min, max)?,
        replicas: Bounds { min, max },
        ports: vec![port],
        probes: Probes { readiness: Some(Probe::new(health)), ..Probes::default() },
        script: BlobHash::of(script.as_bytes()),
        environment: BlobHash::of(b""),
        ask: Ask::default(),
    };
    let base = if words.flag("gang") { Base::Gang } else { Base::Single };
    let drain_delay = words.value("drain")?.unwrap_or(DRAIN_DELAY);
    let update = update(words)?;
    Ok(ServiceSpec {
        roles: vec![RoleSpec { ask: replica_ask(words)?, ..role }],
        port: None,
        entry: None,
        ratio: None,
        near: None,
        protocol: Protocol::default(),
        affinity: None,
        base,
        hold: Hold::default(),
        token: None,
        drain_delay,
        update,
    })
}

/// The request of a replica, with `spread=node`, `spread=leaf` and `per-node-max=N`.
fn replica_ask(words: &mut Words) -> Result<Ask, String> {
    let spread = match words.value::<String>("spread")?.as_deref() {
        None => None,
        Some("node") => Some(Spread::Node),
        Some("leaf") => Some(Spread::Leaf),
        Some(other) => return Err(format!("spread: `{other}` is neither node nor leaf")),
    };
    let per_node_max = words.value("per-node-max")?;
    let mut ask = ask::ask(words)?;
    ask.request.apart = Some(Apart { group: role_name().to_string(), per_node_max, spread });
    Ok(ask)
}

fn update(words: &mut Words) -> Result<UpdatePolicy, String> {
    let usual = UpdatePolicy::default();
    Ok(UpdatePolicy {
        max_parallel: words.value("parallel")?.unwrap_or(usual.max_parallel),
        max_surge: words.value("surge")?.unwrap_or(usual.max_surge),
        canary: words.value("canary")?.unwrap_or(usual.canary),
        min_healthy: words.value("healthy")?.unwrap_or(usual.min_healthy),
        healthy_deadline: words.value("healthy-within")?.unwrap_or(usual.healthy_deadline),
        progress_deadline: words.value("progress-within")?.unwrap_or(usual.progress_deadline),
        auto_revert: !words.flag("no-revert"),
    })
}

/// The autoscaling policy, if the line has `hours=` or `target=`.
fn policy(words: &mut Words, min: u32, max: u32) -> Result<Option<Policy>, String> {
    let mut schedule = Vec::new();
    while let Some(text) = words.value::<String>("hours")? {
        schedule.push(hours(&text)?);
    }
    let target = words.value::<u32>("target")?;
    let down_delay: Option<Span> = words.value("down-delay")?;
    let rule = target.map(|target| rule(target, down_delay.unwrap_or_default())).transpose()?;
    if schedule.is_empty() && rule.is_none() {
        return Ok(None);
    }
    let bounds = PolicyBounds { min: Replicas(min), max: Replicas(max) };
    let rule = rule.unwrap_or(Rule::Fixed);
    Ok(Some(Policy { schedule, ..Policy::new(bounds, rule) }))
}

/// Requests in flight for each replica.
fn rule(target: u32, down_delay: Span) -> Result<Rule, String> {
    let table = serde_json::json!({
        "target": target,
        "down_delay_seconds": down_delay.seconds(),
    });
    let rule = serde_json::from_value(table).map(Rule::Concurrency);
    rule.map_err(|error| format!("target: {error}"))
}

/// `08:00-20:00,min=8` or `20:00-08:00,sat,sun,max=2`.
fn hours(text: &str) -> Result<Hours, String> {
    let number = |text: &str| {
        text.parse().map(Replicas).map_err(|_| format!("hours: `{text}` is not a number"))
    };
    let mut parts = text.split(',');
    let (from, to) = parts
        .next()
        .and_then(|span| span.split_once('-'))
        .ok_or_else(|| format!("hours: `{text}` does not begin with hours such as 08:00-20:00"))?;
    let minute = |text: &str| text.parse::<Minute>().map_err(|error| error.to_string());
    let (mut min, mut max, mut days) = (None, None, Vec::new());
    for part in parts {
        match part.split_once('=') {
            Some(("min", count)) => min = Some(number(count)?),
            Some(("max", count)) => max = Some(number(count)?),
            _ => days.push(part),
        }
    }
    let days = match days.is_empty() {
        true => Days::ALL,
        false => days.join(",").parse().map_err(|error| format!("hours: {error}"))?,
    };
    Ok(Hours { from: minute(from)?, to: minute(to)?, days, min, max })
}
