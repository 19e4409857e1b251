//! Services on real daemons: replicas, probes, ports, updates and the discovery of endpoints.

use anyhow::Context as _;
use common::job::{Phase, ReplicaHealth};
use common::wire::api::{ReplicaView, ServiceList, ServiceState, ServiceView};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, WebClient, free_port, get, wait_for};
use std::net::TcpStream;
use std::process::Command;

const STREAM: &str = "/generate?n=5";
/// The last event of that stream.
const LAST: &str = "token 4 ";

/// A cluster of two nodes, with the example of a service in the user's directory.
fn cluster() -> anyhow::Result<(Cluster, Kantctl)> {
    let cluster = Cluster::start(ClusterOptions {
        node: Some(|config| {
            if config.name == "n1" {
                "127.0.0.1".clone_into(&mut config.router);
            }
        }),
        ..ClusterOptions::cpu_nodes(&["n1", "n2"])
    })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let examples = e2e::workspace().join("etc/examples");
    for file in ["serve.py", "serve.toml"] {
        std::fs::copy(examples.join(file), kantctl.dir().join(file))?;
    }
    Ok((cluster, kantctl))
}

fn show(kantctl: &Kantctl) -> anyhow::Result<ServiceView> {
    let list: ServiceList = kantctl.json(&["service", "show", "chat"])?;
    list.services.into_iter().next().ok_or_else(|| anyhow::anyhow!("the service is gone"))
}

/// The ready replicas once there are this many, all of this revision.
fn ready(kantctl: &Kantctl, count: usize, revision: u32) -> anyhow::Result<Vec<ReplicaView>> {
    wait_for(&format!("{count} ready replicas of revision {revision}"), || {
        let service = show(kantctl)?;
        let replicas: Vec<ReplicaView> =
            service.roles.into_iter().flat_map(|role| role.replicas).collect();
        let is_it = |one: &ReplicaView| {
            one.health == Some(ReplicaHealth::Ready) && one.revision.0 == revision
        };
        Ok((replicas.len() == count && replicas.iter().all(is_it)).then_some(replicas))
    })
}

fn change(kantctl: &Kantctl, from: &str, to: &str) -> anyhow::Result<()> {
    let file = kantctl.dir().join("serve.toml");
    let text = std::fs::read_to_string(&file)?;
    assert!(text.contains(from), "{from} is not in the example");
    Ok(std::fs::write(file, text.replace(from, to))?)
}

#[test]
fn a_service_keeps_its_replicas_over_failures_updates_and_the_death_of_both_daemons()
-> anyhow::Result<()> {
    let (mut cluster, kantctl) = cluster()?;
    kantctl.ok(&["service", "deploy", "serve.toml", "--wait"])?;
    let first = ready(&kantctl, 1, 1)?;
    let port = first[0].ports[0].number;
    assert!(get(port, "/")?.contains(r#""revision": "1""#));

    let plan = ["service", "deploy", "serve.toml", "--dry-run"];
    let same = kantctl.ok(&plan)?;
    assert!(same.ends_with("revision 1:\n  nothing would change\n"), "{same}");
    let (delay, longer) = ("drain_delay = \"1s\"", "drain_delay = \"2s\"");
    change(&kantctl, delay, longer)?;
    assert!(kantctl.ok(&plan)?.contains("role worker: 1 replica would be replaced"));
    change(&kantctl, longer, delay)?;

    // A replica that fits no node waits for one only if that is asked for.
    let large = ["service", "deploy", "large", "--dry-run", "--", "-n1", "-c999", "--wrap", "true"];
    kantctl.refused(&large, "999")?;
    let forced = large.map(|word| if word == "--dry-run" { "--force" } else { word });
    kantctl.ok(&forced)?;
    wait_for("a replica that waits", || {
        let list: ServiceList = kantctl.json(&["service", "show", "large"])?;
        let replicas = list.services.iter().flat_map(|one| &one.roles[0].replicas);
        Ok(replicas.into_iter().any(|one| one.phase == Phase::Pending).then_some(()))
    })?;
    kantctl.ok(&["service", "stop", "large", "--wait"])?;

    // Scaled up, its replicas have ports of their own, and are discovered.
    kantctl.ok(&["service", "scale", "chat", "3"])?;
    let replicas = ready(&kantctl, 3, 1)?;
    let targets = kantctl.ok(&["service", "endpoints", "chat"])?;
    for replica in &replicas {
        let port = replica.ports[0].number;
        assert!(targets.contains(&port.to_string()), "{targets}");
        assert!(get(port, "/health")?.contains("200 OK"));
    }
    let servers = kantctl.ok(&["service", "endpoints", "chat", "--format", "haproxy"])?;
    assert_eq!(servers.lines().count(), 3, "{servers}");
    assert!(
        servers.starts_with("server worker-") && servers.contains("-http 127.0.0.1:"),
        "{servers}"
    );
    kantctl.refused(&["service", "scale", "chat", "5"], "1 to 4")?;

    // A replica that dies is replaced, and nothing happens when the daemons die.
    let job = replicas[1].job.to_string();
    kantctl.ok(&["cancel", &job])?;
    let now = wait_for("another replica", || {
        let now = ready(&kantctl, 3, 1)?;
        Ok(now.iter().all(|one| one.job.to_string() != job).then_some(now))
    })?;
    cluster.kill_controller()?;
    cluster.kill_node("n1")?;
    cluster.start_controller()?;
    cluster.start_node("n1")?;
    cluster.wait_for_nodes()?;
    let after = ready(&kantctl, 3, 1)?;
    let jobs = |all: &[ReplicaView]| all.iter().map(|one| one.job).collect::<Vec<_>>();
    assert_eq!(jobs(&now), jobs(&after), "all replicas ran on");
    let ports = |all: &[ReplicaView]| all.iter().map(|one| one.ports.clone()).collect::<Vec<_>>();
    assert_eq!(ports(&now), ports(&after));

    // An update replaces them; a broken one is reverted.
    change(&kantctl, "VERSION=1", "VERSION=2")?;
    kantctl.ok(&["service", "deploy", "serve.toml", "--wait"])?;
    let replicas = ready(&kantctl, 3, 2)?;
    assert!(get(replicas[0].ports[0].number, "/")?.contains(r#""version": "2""#));
    change(&kantctl, "VERSION=2", "BROKEN=1")?;
    change(&kantctl, "healthy_deadline = \"20s\"", "healthy_deadline = \"2s\"")?;
    kantctl.refused(&["service", "deploy", "serve.toml", "--wait"], "returning to revision 2")?;
    let service = wait_for("the end of the revert", || {
        let service = show(&kantctl)?;
        Ok((service.state == ServiceState::Steady).then_some(service))
    })?;
    assert_eq!(service.healthy_revision.map(|one| one.0), Some(2));
    let after = ready(&kantctl, 3, 2)?;
    assert_eq!(jobs(&after), jobs(&replicas), "the healthy ones ran on");

    kantctl.ok(&["service", "stop", "chat", "--wait"])?;
    kantctl.refused(&["service", "show", "chat"], "no service `chat`")?;
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    Ok(())
}

#[test]
fn a_replica_that_is_not_live_is_replaced_and_says_why() -> anyhow::Result<()> {
    let (_cluster, kantctl) = cluster()?;
    change(&kantctl, "period = \"1s\", failures = 5", "period = \"200ms\", failures = 2")?;
    // It counts once the program listens, which takes its time on a busy machine.
    let startup = "startup = { http = \"/health\", period = \"200ms\" }\nliveness";
    change(&kantctl, "liveness", startup)?;
    kantctl.ok(&["service", "deploy", "serve.toml", "--wait"])?;
    let first = ready(&kantctl, 1, 1)?;
    kantctl.touch("broken")?;
    let job = first[0].job.to_string();
    let ended = kantctl.finished(&job)?;
    let why = ended.message.unwrap_or_default();
    assert!(why.contains("liveness probe (GET /health on port http) failed 2 times"), "{why}");
    std::fs::remove_file(kantctl.dir().join("broken"))?;
    let second = wait_for("another replica", || {
        let now = ready(&kantctl, 1, 1)?;
        Ok(now.iter().all(|one| one.job.to_string() != job).then_some(now))
    })?;
    let events = kantctl.ok(&["service", "events", "chat"])?;
    assert!(events.contains(&format!("(job {job}) ended: ")), "{events}");
    assert!(get(second[0].ports[0].number, "/")?.contains("replica"));
    Ok(())
}

#[test]
fn a_router_loses_no_request_while_replicas_and_daemons_come_and_go() -> anyhow::Result<()> {
    let (mut cluster, kantctl) = cluster()?;
    let port = free_port()?;
    change(&kantctl, "port = 8000", &format!("port = {port}"))?;
    let router = cluster.start_router("n1")?;
    kantctl.ok(&["service", "deploy", "serve.toml", "--wait"])?;
    wait_for("the router", || Ok(get(port, "/").is_ok().then_some(())))?;
    let clients: Vec<WebClient> = (0..3).map(|_| WebClient::start(port, STREAM, LAST)).collect();

    kantctl.ok(&["service", "scale", "chat", "3"])?;
    let replicas = ready(&kantctl, 3, 1)?;
    change(&kantctl, "VERSION=1", "VERSION=2")?;
    kantctl.ok(&["service", "deploy", "serve.toml", "--wait"])?;
    ready(&kantctl, 3, 2)?;
    cluster.kill_node("n1")?;
    cluster.kill_controller()?;
    cluster.start_controller()?;
    cluster.start_node("n1")?;
    cluster.wait_for_nodes()?;
    kantctl.ok(&["service", "scale", "chat", "1"])?;
    ready(&kantctl, 1, 2)?;
    let answered: usize = clients.into_iter().map(WebClient::stop).sum();
    assert!(answered > 20, "{answered} answers");
    assert_eq!(replicas.len(), 3);
    assert!(router.stop()?.success());
    Ok(())
}

#[test]
fn a_service_without_replicas_wakes_for_a_held_request_and_grows_with_its_load()
-> anyhow::Result<()> {
    let (cluster, kantctl) = cluster()?;
    let port = free_port()?;
    change(&kantctl, "port = 8000", &format!("port = {port}"))?;
    change(&kantctl, "min = 1", "min = 0")?;
    let policy = "ports = [\"http\"]\nautoscale = { concurrency = { target = 2 } }\n";
    change(&kantctl, "ports = [\"http\"]\n", policy)?;
    let router = cluster.start_router("n1")?;
    kantctl.ok(&["service", "deploy", "serve.toml", "--wait"])?;
    assert_eq!(show(&kantctl)?.roles[0].wanted, 0);
    wait_for("the router", || Ok(TcpStream::connect(("127.0.0.1", port)).ok()))?;
    // The request waits for the first replica.
    assert!(get(port, STREAM)?.contains(LAST));
    let events = kantctl.ok(&["service", "events", "chat"])?;
    assert!(events.contains("role worker scaled from 0 to 1 replicas: "), "{events}");
    let clients: Vec<WebClient> = (0..4).map(|_| WebClient::start(port, STREAM, LAST)).collect();
    wait_for("more replicas", || Ok((show(&kantctl)?.roles[0].ready >= 2).then_some(())))?;
    let answered: usize = clients.into_iter().map(WebClient::stop).sum();
    assert!(answered > 10, "{answered} answers");
    assert!(router.stop()?.success());
    Ok(())
}

#[test]
fn draining_a_node_moves_its_replicas_to_another() -> anyhow::Result<()> {
    let (cluster, kantctl) = cluster()?;
    kantctl.ok(&["service", "deploy", "serve.toml", "--wait"])?;
    let first = ready(&kantctl, 1, 1)?;
    let node = first[0].node.clone().context("it runs on a node")?;
    cluster.kantctl(Person::me())?.ok(&["drain", node.as_str(), "--reason", "fan"])?;
    wait_for("a replica elsewhere", || {
        let now = ready(&kantctl, 1, 1)?;
        Ok(now[0].node.as_ref().is_some_and(|now| *now != node).then_some(()))
    })?;
    let events = kantctl.ok(&["service", "events", "chat"])?;
    assert!(events.contains("another replica takes its place"), "{events}");
    Ok(())
}

#[test]
fn a_replica_is_not_ready_while_a_program_of_another_user_holds_its_port() -> anyhow::Result<()> {
    let Some(other) = Person::other() else { return Ok(()) };
    let (_cluster, kantctl) = cluster()?;
    let script = "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.05; done\nexec python3 serve.py\n";
    std::fs::write(kantctl.dir().join("late.sh"), script)?;
    change(&kantctl, "serve.py", "late.sh")?;
    kantctl.ok(&["service", "deploy", "serve.toml"])?;
    let replica = || anyhow::Ok(show(&kantctl)?.roles.swap_remove(0).replicas.into_iter().next());
    let port = wait_for("the port", || {
        Ok(replica()?.and_then(|one| one.ports.first().map(|port| port.number)))
    })?;
    // It answers each probe.
    let mut command = Command::new("python3");
    other.dress(command.arg(kantctl.dir().join("serve.py")).env("PORT", port.to_string()));
    let mut stranger = command.spawn()?;
    let refused = wait_for("the refusal", || {
        let why = replica()?.and_then(|one| one.why).unwrap_or_default();
        Ok(why.contains("another user").then_some(why))
    });
    stranger.kill()?;
    stranger.wait()?;
    assert_eq!(
        refused?,
        format!("port {port} is held by a program of another user (uid {})", other.uid)
    );
    std::fs::write(kantctl.dir().join("go"), "")?;
    ready(&kantctl, 1, 1)?;
    Ok(())
}
