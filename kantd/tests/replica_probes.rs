//! The probes of replicas by the real kantd: what it reports, and what it ends.

use crate::controller::{Controller, NodeChannel, id, send_all, soon};
use crate::real_node::{Kantd, Node, eventually, node_and_controller, ordered, until_ended};
use common::id::{AttemptId, Ordinal, PortName, Revision, RoleName, ServiceName};
use common::job::{EndCause, Probe, ProbeAction, Probes, Replica, ReplicaHealth, ReplicaStatus};
use common::time::Span;
use common::wire::node::{DesiredStep, FromNode};
use std::fs;
use std::net::TcpListener;

const FOREVER: &str = "#!/bin/sh\nexec sleep 1000\n";

fn port() -> PortName {
    PortName::new("http").unwrap()
}

/// A probe every 50 ms that may take 5 s; two failures in a row count.
fn often(action: ProbeAction) -> Probe {
    let (period, timeout) = (Span(50), Span::from_seconds(5));
    Probe { period, timeout, failures: 2, ..Probe::new(action) }
}

fn command(line: &str) -> ProbeAction {
    ProbeAction::Command { line: line.to_owned() }
}

/// A replica that runs until it is ended, with these probes.
fn replica(id: AttemptId, node: &Node, probes: Probes) -> DesiredStep {
    let mut step = ordered(id, FOREVER, node.dir.path());
    step.order.as_mut().unwrap().replica = Some(Box::new(Replica {
        service: ServiceName::new("chat").unwrap(),
        role: RoleName::new("worker").unwrap(),
        revision: Revision(1),
        ordinal: Ordinal(0),
        ports: vec![port()],
        probes,
        metrics: None,
        drain_delay: Span(0),
    }));
    step
}

/// Reads reports until one says this of a replica.
async fn reported(
    channel: &mut NodeChannel,
    id: AttemptId,
    is_it: impl Fn(&ReplicaStatus) -> bool,
) -> ReplicaStatus {
    loop {
        if let FromNode::Replicas(news) = soon(channel.recv()).await.unwrap().unwrap()
            && let Some(found) = news.into_iter().find(|one| one.id == id && is_it(one))
        {
            return found;
        }
    }
}

async fn until_health(
    channel: &mut NodeChannel,
    id: AttemptId,
    health: ReplicaHealth,
) -> ReplicaStatus {
    // Before its first probe, a replica has no reason not to be ready.
    let is_it = |one: &ReplicaStatus| {
        one.health == health && (one.why.is_some() || health == ReplicaHealth::Ready)
    };
    reported(channel, id, is_it).await
}

/// A replica with these probes on a new node.
async fn start(probes: Probes) -> (Controller, Node, Kantd, NodeChannel) {
    let (mut controller, node) = node_and_controller().await;
    let kantd = node.start();
    let (channel, _) = controller.welcome().await;
    send_all(&channel, vec![replica(id(1, 1), &node, probes)]).await;
    (controller, node, kantd, channel)
}

/// Ends all replicas, which would outlive kantd.
async fn end_all(channel: &NodeChannel, node: &Node) {
    send_all(channel, vec![]).await;
    eventually("all replicas have ended", || node.spooled() == 0).await;
}

#[tokio::test]
async fn a_replica_is_ready_only_while_something_listens_on_its_own_port() {
    let readiness = Some(often(ProbeAction::Tcp { port: port() }));
    let probes = Probes { readiness, ..Probes::default() };
    let (_controller, node, _kantd, mut channel) = start(probes).await;
    let a = id(1, 1);
    let status = until_health(&mut channel, a, ReplicaHealth::NotReady).await;
    let number = status.ports[0].number;
    let why = status.why.unwrap();
    assert!(why.starts_with(&format!("failed to connect to port {number}: ")), "{why}");

    // A program that listens on another port does not count.
    let _elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let listener = TcpListener::bind(("127.0.0.1", number)).unwrap();
    until_health(&mut channel, a, ReplicaHealth::Ready).await;
    drop(listener);
    until_health(&mut channel, a, ReplicaHealth::NotReady).await;
    let _listener = TcpListener::bind(("127.0.0.1", number)).unwrap();
    until_health(&mut channel, a, ReplicaHealth::Ready).await;
    end_all(&channel, &node).await;
}

#[tokio::test]
async fn a_command_decides_whether_a_replica_is_ready() {
    let readiness = Some(often(command("test -e ready")));
    let probes = Probes { readiness, ..Probes::default() };
    let (_controller, node, _kantd, mut channel) = start(probes).await;
    let a = id(1, 1);
    let status = until_health(&mut channel, a, ReplicaHealth::NotReady).await;
    assert_eq!(status.why.as_deref(), Some("the command ended with exit code 1"));
    for _ in 0..2 {
        fs::write(node.path("ready"), "").unwrap();
        until_health(&mut channel, a, ReplicaHealth::Ready).await;
        fs::remove_file(node.path("ready")).unwrap();
        until_health(&mut channel, a, ReplicaHealth::NotReady).await;
    }
    end_all(&channel, &node).await;
}

#[tokio::test]
async fn a_server_that_accepts_and_never_answers_is_not_ready() {
    let action = ProbeAction::Http { port: port(), path: "/health".to_owned() };
    let readiness = Some(Probe { timeout: Span(100), ..often(action) });
    let probes = Probes { readiness, ..Probes::default() };
    let (_controller, node, _kantd, mut channel) = start(probes).await;
    let a = id(1, 1);
    let number = until_health(&mut channel, a, ReplicaHealth::NotReady).await.ports[0].number;
    let _silent = TcpListener::bind(("127.0.0.1", number)).unwrap();
    let silent = |one: &ReplicaStatus| one.why.as_deref() == Some("no answer within 0.1 s");
    let status = reported(&mut channel, a, silent).await;
    assert_eq!(status.health, ReplicaHealth::NotReady);
    end_all(&channel, &node).await;
}

#[tokio::test]
async fn liveness_is_not_probed_before_the_startup_probe_succeeds() {
    let probes = Probes {
        startup: Some(often(command("echo x >> tries; test -e started"))),
        liveness: Some(often(command("false"))),
        ..Probes::default()
    };
    let (_controller, node, _kantd, mut channel) = start(probes).await;
    let a = id(1, 1);
    let status = until_health(&mut channel, a, ReplicaHealth::Starting).await;
    assert_eq!(status.why.as_deref(), Some("the command ended with exit code 1"));
    // More than twice the failures that the liveness probe may have.
    let tries = || fs::read_to_string(node.path("tries")).unwrap_or_default().lines().count();
    eventually("five startup probes", || tries() >= 5).await;
    fs::write(node.path("started"), "").unwrap();
    until_health(&mut channel, a, ReplicaHealth::Ready).await;
    let end = until_ended(&mut channel, a).await;
    let message = end.message.unwrap();
    assert_eq!(message, "its liveness probe (command false) failed 2 times in a row");
}

#[tokio::test]
async fn a_replica_that_does_not_start_in_time_is_ended() {
    let probes = Probes {
        startup: Some(often(command("false"))),
        startup_max: Span::from_seconds(1),
        ..Probes::default()
    };
    let (_controller, _node, _kantd, mut channel) = start(probes).await;
    let end = until_ended(&mut channel, id(1, 1)).await;
    let message = end.message.unwrap();
    assert_eq!(message, "its startup probe (command false) did not succeed within 00:01");
}

#[tokio::test]
async fn a_replica_for_which_no_port_is_left_does_not_start() {
    let (mut controller, node) = node_and_controller().await;
    let config = fs::read_to_string(node.path("kantd.toml")).unwrap();
    let (before, range) = config.split_once("service_ports = \"").unwrap();
    let (free, _) = range.split_once('-').unwrap();
    let one = format!("{before}service_ports = \"{free}-{free}\"\n");
    fs::write(node.path("kantd.toml"), one).unwrap();
    let free: u16 = free.parse().unwrap();
    let _kantd = node.start();
    let (mut channel, _) = controller.welcome().await;
    let (a, b) = (id(1, 1), id(2, 1));
    let first = replica(a, &node, Probes::default());
    send_all(&channel, vec![first.clone()]).await;
    let status = until_health(&mut channel, a, ReplicaHealth::Ready).await;
    assert_eq!(status.ports[0].number, free);

    send_all(&channel, vec![first, replica(b, &node, Probes::default())]).await;
    let end = until_ended(&mut channel, b).await;
    assert_eq!(end.cause, EndCause::NodeFault, "{end:?}");
    let message = end.message.unwrap();
    let expected = format!("all ports from {free} to {free} are in use; `service_ports` in");
    assert!(message.contains(&expected), "{message}");
    end_all(&channel, &node).await;
}
