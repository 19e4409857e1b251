//! The benchmark of many services: what they cost a controller, how soon a role grows, and how soon
//! another replica answers when one has died, and what probes cost a node. It prints samples and
//! sets no limits.

mod probes;

use crate::figures::Figures;
use crate::scale::batch;
use crate::scale::cluster::TestCluster;
use anyhow::{Context as _, ensure};
use common::autoscale::{Bounds, Concurrency, Policy, Replicas, Requests, Rule};
use common::blob::BlobHash;
use common::id::JobKey;
use common::job::Probes;
use common::service::table::{Hold, Protocol};
use common::service::{self, RoleSpec, ServiceSpec, UpdatePolicy};
use common::time::Span;
use common::wire::api::{DeployRequest, ServiceList};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, free_port, get, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// Emulated nodes of 224 CPUs each.
const NODES: u32 = 100;
/// The replicas of each service.
const REPLICAS: u32 = 4;
/// Replicas that a role grows by.
const MORE: u32 = 4;
/// The time after which a controller that only keeps its services does nothing else.
const SETTLE: Duration = Duration::from_secs(15);
/// How long an idle controller is observed.
const IDLE: Duration = Duration::from_secs(30);
const SCRIPT: &str = "#!/bin/sh\nexec sleep 1d\n";

/// Options of the benchmark of many services
#[derive(clap::Args)]
pub struct Args {
    /// Number of times that each figure is measured
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Services of four replicas each that a controller keeps
    #[arg(long, default_value_t = 1_000)]
    services: u32,
}

/// Measures everything. The daemons are built in the same way as this program.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut figures = Figures::default();
    failover(args.rounds, &mut figures)?;
    probes::cost(args.rounds, &mut figures)?;
    at_rest(args.services, args.rounds, &mut figures)?;
    println!("{:#}", figures.to_json());
    Ok(())
}

/// Measures a controller with this number of services, every other one of which has a policy.
fn at_rest(services: u32, rounds: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let cluster = TestCluster::start(NODES)?;
    for number in 0..services {
        cluster.deploy(&request(number)?)?;
    }
    let all = services * REPLICAS;
    cluster.until_running(all as usize)?;
    for round in 0..rounds {
        std::thread::sleep(SETTLE);
        let (before, _) = cluster.cpu()?;
        std::thread::sleep(IDLE);
        let used = cluster.cpu()?.0 - before;
        let what = format!("{services} services x {REPLICAS} replicas at rest");
        figures.add(&what, "% of a core", used / IDLE.as_secs_f64() * 100.0);
        // Services with an even number have no policy.
        let number = u32::try_from(round * 2)?;
        let begin = Instant::now();
        cluster.scale(&name(number), REPLICAS + MORE)?;
        cluster.until_running((all + MORE * (u32::try_from(round)? + 1)) as usize)?;
        figures.time(&format!("scale by {MORE} replicas until they run"), begin.elapsed());
    }
    Ok(())
}

fn name(number: u32) -> String {
    format!("service-{number}")
}

fn request(number: u32) -> anyhow::Result<DeployRequest> {
    let (min, max) = (REPLICAS, 2 * REPLICAS);
    let policy = || {
        let bounds = Bounds { min: Replicas(min), max: Replicas(max) };
        Policy::new(bounds, Rule::Concurrency(Concurrency::new(Requests::whole(8))))
    };
    let role = RoleSpec {
        name: "worker".parse()?,
        ask: batch::ask(0, 1),
        script: BlobHash::of(SCRIPT.as_bytes()),
        environment: BlobHash::of(b""),
        replicas: service::Bounds { min, max },
        ports: vec!["http".parse()?],
        // An emulated node does not probe.
        probes: Probes::default(),
        metrics: None,
        autoscale: (number % 2 == 1).then(policy),
    };
    let spec = ServiceSpec {
        roles: vec![role],
        port: Some(u16::try_from(number + 10_000)?),
        entry: None,
        ratio: None,
        near: None,
        protocol: Protocol::default(),
        affinity: None,
        base: service::Base::default(),
        hold: Hold::default(),
        token: None,
        drain_delay: Span(0),
        update: UpdatePolicy::default(),
    };
    let texts = vec![SCRIPT.to_owned(), String::new()];
    Ok(DeployRequest { name: name(number).parse()?, spec, texts, force: true, dry_run: false })
}

/// Kills one of two replicas, again and again, and measures how long it takes until the other one
/// has answered the next request through the router.
fn failover(rounds: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions {
        node: Some(|config| {
            if config.name == "n1" {
                "127.0.0.1".clone_into(&mut config.router);
            }
        }),
        ..ClusterOptions::cpu_nodes(&["n1", "n2"])
    })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let port = deploy_example(&kantctl)?;
    let _router = cluster.start_router("n1")?;
    wait_for("the router", || Ok(get(port, "/").ok()))?;
    for _ in 0..rounds {
        let before = two_ready(&kantctl, None)?;
        let pid = Pid::from_raw(i32::try_from(pid_of(&get(port, "/")?)?)?);
        kill(pid, Signal::SIGKILL)?;
        let begin = Instant::now();
        let answer = loop {
            if let Some(answer) = get(port, "/").ok().filter(|answer| answer.contains("200 OK")) {
                break answer;
            }
        };
        figures.time("death of a replica until another one answers", begin.elapsed());
        ensure!(pid_of(&answer)? != i64::from(pid.as_raw()), "a dead replica answered");
        two_ready(&kantctl, Some(&before))?;
        figures.time("death of a replica until a new one is ready", begin.elapsed());
    }
    Ok(())
}

fn deploy_example(kantctl: &Kantctl) -> anyhow::Result<u16> {
    let (port, examples) = (free_port()?, e2e::workspace().join("etc/examples"));
    std::fs::copy(examples.join("serve.py"), kantctl.dir().join("serve.py"))?;
    let text = std::fs::read_to_string(examples.join("serve.toml"))?
        .replace("port = 8000", &format!("port = {port}"))
        .replace("min = 1", "min = 2");
    std::fs::write(kantctl.dir().join("serve.toml"), text)?;
    kantctl.ok(&["service", "deploy", "serve.toml", "--wait"])?;
    Ok(port)
}

/// The jobs of the replicas, once two of them are ready and they are others than `before`.
fn two_ready(kantctl: &Kantctl, before: Option<&[JobKey]>) -> anyhow::Result<Vec<JobKey>> {
    wait_for("two ready replicas", || {
        let list: ServiceList = kantctl.json(&["service", "show", "chat"])?;
        let replicas = list.services.iter().flat_map(|one| &one.roles[0].replicas);
        let ready: Vec<JobKey> = replicas.filter(|one| one.is_ready()).map(|one| one.job).collect();
        Ok((ready.len() == 2 && before.is_none_or(|before| before != ready)).then_some(ready))
    })
}

/// The process that answered.
fn pid_of(answer: &str) -> anyhow::Result<i64> {
    let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
    let identity: serde_json::Value = serde_json::from_str(body).context(answer.to_owned())?;
    identity["pid"].as_i64().filter(|pid| *pid > 1).context("no pid in the answer")
}
