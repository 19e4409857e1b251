//! A service outlives what it consists of: replicas, node daemons, routers and controllers are
//! killed one after the other, while clients ask all the time.

use common::job::ReplicaHealth;
use common::wire::api::{ReplicaView, ServiceList};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, WebClient, free_port, get, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const STREAM: &str = "/generate?n=5";
/// The last event of that stream.
const LAST: &str = "token 4 ";

/// Three controllers and two nodes, the first with a router, and kantctl on the second one.
fn cluster(port: u16) -> anyhow::Result<(Cluster, Kantctl)> {
    let cluster = Cluster::start(ClusterOptions {
        controllers: 3,
        node: Some(|config| {
            if config.name == "n1" {
                "127.0.0.1".clone_into(&mut config.router);
            }
        }),
        ..ClusterOptions::cpu_nodes(&["n1", "n2"])
    })?;
    let kantctl = cluster.kantctl(Person::plain())?.on(&cluster.node_socket("n2"));
    let examples = e2e::workspace().join("etc/examples");
    std::fs::copy(examples.join("serve.py"), kantctl.dir().join("serve.py"))?;
    let text = std::fs::read_to_string(examples.join("serve.toml"))?;
    let text = text.replace("port = 8000", &format!("port = {port}"));
    std::fs::write(kantctl.dir().join("serve.toml"), text)?;
    Ok((cluster, kantctl))
}

/// The ready replicas once there are three, and no other ones.
fn three_ready(kantctl: &Kantctl) -> anyhow::Result<Vec<ReplicaView>> {
    wait_for("three ready replicas", || {
        let list: ServiceList = kantctl.json(&["service", "show", "chat"])?;
        let roles = list.services.into_iter().flat_map(|service| service.roles);
        let replicas: Vec<ReplicaView> = roles.flat_map(|role| role.replicas).collect();
        let is_ready = |one: &ReplicaView| one.health == Some(ReplicaHealth::Ready);
        Ok((replicas.len() == 3 && replicas.iter().all(is_ready)).then_some(replicas))
    })
}

/// The pid of a replica's process.
fn pid(replica: &ReplicaView) -> anyhow::Result<i32> {
    let answer = get(replica.ports[0].number, "/")?;
    let identity: serde_json::Value =
        serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap_or_default())?;
    let pid = i32::try_from(identity["pid"].as_i64().unwrap_or_default())?;
    assert!(pid > 1, "{answer}");
    Ok(pid)
}

/// Kills a replica's process, as if it had crashed.
fn crash(replica: &ReplicaView) -> anyhow::Result<()> {
    Ok(kill(Pid::from_raw(pid(replica)?), Signal::SIGKILL)?)
}

fn is_gone(replica: &ReplicaView, now: &[ReplicaView]) -> bool {
    now.iter().all(|one| one.job != replica.job)
}

#[test]
fn no_request_fails_while_replicas_daemons_and_the_leading_controller_are_killed()
-> anyhow::Result<()> {
    let port = free_port()?;
    let (mut cluster, kantctl) = cluster(port)?;
    let router = cluster.start_router("n1")?;
    kantctl.ok(&["service", "deploy", "serve.toml", "--wait"])?;
    kantctl.ok(&["service", "scale", "chat", "3"])?;
    let first = three_ready(&kantctl)?;
    wait_for("the router", || Ok(get(port, "/").is_ok().then_some(())))?;
    let start = |_| WebClient::start_repeating(port, STREAM, LAST);
    let clients: Vec<WebClient> = (0..3).map(start).collect();

    crash(&first[0])?;
    let second = wait_for("another replica", || {
        Ok(Some(three_ready(&kantctl)?).filter(|now| is_gone(&first[0], now)))
    })?;

    // A replica dies while no controller leads: the next leader replaces it, and no other one.
    let pids: Vec<i32> = second.iter().map(pid).collect::<Result<_, _>>()?;
    let leader = cluster.kill_leader()?;
    crash(&second[1])?;
    let third = wait_for("another replica under the next leader", || {
        Ok(Some(three_ready(&kantctl)?).filter(|now| is_gone(&second[1], now)))
    })?;
    let kept = |now: &[ReplicaView]| {
        let now: Vec<i32> = now.iter().map(pid).collect::<Result<_, _>>()?;
        anyhow::Ok(pids.iter().filter(|pid| now.contains(pid)).count())
    };
    assert_eq!(kept(&third)?, 2, "{second:?} {third:?}");
    cluster.revive(&leader)?;
    cluster.kill_node("n1")?;
    cluster.start_node("n1")?;
    cluster.wait_for_nodes()?;
    assert_eq!(kept(&three_ready(&kantctl)?)?, 2);

    let answered: usize = clients.into_iter().map(WebClient::stop).sum();
    assert!(answered > 20, "{answered} answers");
    assert!(router.stop()?.success());
    Ok(())
}

#[test]
fn a_router_that_is_killed_serves_again_without_a_leading_controller() -> anyhow::Result<()> {
    let port = free_port()?;
    let (mut cluster, kantctl) = cluster(port)?;
    let router = cluster.start_router("n1")?;
    kantctl.ok(&["service", "deploy", "serve.toml", "--wait"])?;
    wait_for("the router", || Ok(get(port, STREAM).ok().filter(|one| one.contains(LAST))))?;

    let down = [cluster.kill_leader()?, cluster.kill_leader()?];
    router.kill()?;
    assert!(get(port, "/").is_err(), "the router is dead");
    cluster.kill_node("n1")?;
    let router = cluster.start_router("n1")?;
    wait_for("the router from its last table", || {
        Ok(get(port, STREAM).ok().filter(|one| one.contains(LAST)))
    })?;
    let client = WebClient::start(port, STREAM, LAST);
    down.iter().try_for_each(|name| cluster.revive(name))?;
    cluster.start_node("n1")?;
    cluster.wait_for_nodes()?;
    kantctl.ok(&["service", "show", "chat"])?;
    assert!(client.stop() > 0);
    assert!(router.stop()?.success());
    Ok(())
}
