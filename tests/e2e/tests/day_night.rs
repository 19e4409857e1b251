//! Day and night on one cluster: while a service has little load, training borrows its GPUs; when
//! the load returns, the service gets its quota back once the protection of the borrowers is over.

use common::config::{AmountsTable, ControllerConfig, QueueTable};
use common::id::QueueName;
use common::job::Phase;
use common::policy::Amounts;
use common::unit::Gpus;
use common::wire::api::{JobList, MetricsView, ServiceList};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, WebClient, free_port, get, wait_for};
use std::time::{Duration, Instant};

const STREAM: &str = "/generate?n=5";
const LAST: &str = "token 4 ";
/// How long a job that borrows is protected, in seconds.
const PROTECTED_SECONDS: u64 = 5;
/// What a busy machine may need for a round, the end of a job and the start of a replica.
const SLACK: Duration = Duration::from_secs(30);

/// Four GPUs: three are the quota of the service's queue, one that of training.
fn two_teams() -> anyhow::Result<Cluster> {
    let policy = |config: &mut ControllerConfig| {
        let queue = |name: &str, gpus: u32, preemptible| {
            let quota = AmountsTable(Amounts { gpus_any: Some(Gpus(gpus)), ..Amounts::default() });
            let (name, default) = (QueueName::new(name).ok(), name == "training");
            QueueTable { name, quota, preemptible, default, ..QueueTable::default() }
        };
        config.fair_sharing = true;
        config.queue = vec![queue("serving", 3, false), queue("training", 1, true)];
        config.queue[1].reclaim_runtime_min = format!("{PROTECTED_SECONDS}s");
        config.kill_grace_seconds = 1;
    };
    Cluster::start(ClusterOptions {
        controller: Some(policy),
        node: Some(|config| {
            if config.name == "g1" {
                "127.0.0.1".clone_into(&mut config.router);
            }
        }),
        ..ClusterOptions::gpu_nodes(&["g1", "g2"], "pcie-2")
    })
}

fn deploy(kantctl: &Kantctl) -> anyhow::Result<u16> {
    let (port, examples) = (free_port()?, e2e::workspace().join("etc/examples"));
    std::fs::copy(examples.join("serve.py"), kantctl.dir().join("serve.py"))?;
    let policy =
        "autoscale = { concurrency = { target = 1, stable_seconds = 6, panic_seconds = 2 } }";
    let text = std::fs::read_to_string(examples.join("serve.toml"))?
        .replace("port = 8000", &format!("port = {port}"))
        .replace("--cpus-per-task 1", "--cpus-per-task 1 --gpus 1 --queue serving")
        .replace("max = 4", &format!("max = 3\n{policy}"));
    std::fs::write(kantctl.dir().join("serve.toml"), text)?;
    kantctl.ok(&["service", "deploy", "serve.toml", "--wait"])?;
    wait_for("the router", || Ok(get(port, STREAM).ok()))?;
    Ok(port)
}

fn ready(kantctl: &Kantctl) -> anyhow::Result<u32> {
    let list: ServiceList = kantctl.json(&["service", "show", "chat"])?;
    Ok(list.services[0].roles[0].ready)
}

fn training(kantctl: &Kantctl) -> anyhow::Result<usize> {
    let list: JobList = kantctl.json(&["queue", "--queue", "training"])?;
    Ok(list.jobs.iter().filter(|job| job.phase == Phase::Running).count())
}

#[test]
fn training_borrows_by_night_and_gives_back_by_day() -> anyhow::Result<()> {
    let cluster = two_teams()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let router = cluster.start_router("g1")?;
    let port = deploy(&kantctl)?;
    let by_day = || (0..3).map(|_| WebClient::start(port, STREAM, LAST)).collect::<Vec<_>>();

    // Day: three replicas, and one of four training jobs.
    let clients = by_day();
    wait_for("three replicas", || Ok((ready(&kantctl)? == 3).then_some(())))?;
    for _ in 0..4 {
        kantctl.submit(&["--gpus=1", "--mem=16M"], "#!/bin/sh\nexec sleep 600\n")?;
    }
    wait_for("one training job", || Ok((training(&kantctl)? == 1).then_some(())))?;

    // Night: one replica, and training borrows the other two GPUs.
    let mut answered: usize = clients.into_iter().map(WebClient::stop).sum();
    wait_for("three training jobs", || Ok((training(&kantctl)? == 3).then_some(())))?;
    assert_eq!(ready(&kantctl)?, 1, "the base of the service");
    let night: MetricsView = kantctl.json(&["metrics"])?;
    assert!((night.gar - 1.0).abs() < f64::EPSILON, "all GPUs are in use: {night:?}");
    assert!(night.sor > 0.0 && night.sor <= 1.0, "{night:?}");

    // Day again: the quota is back after the protection time, and no request is lost meanwhile.
    let began = Instant::now();
    let clients = by_day();
    wait_for("three replicas again", || Ok((ready(&kantctl)? == 3).then_some(())))?;
    let took = began.elapsed();
    assert!(took < Duration::from_secs(PROTECTED_SECONDS) + SLACK, "it took {took:?}");
    assert_eq!(training(&kantctl)?, 1, "the job within the quota of training ran on");
    answered += clients.into_iter().map(WebClient::stop).sum::<usize>();
    assert!(answered > 30, "{answered} answers");
    assert!(router.stop()?.success());
    Ok(())
}
