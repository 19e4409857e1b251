//! What a replica may be, with real daemons: a gang of several nodes, or a container; and the files
//! for the routers of others.

use crate::container::{has_runtime, make_image};
use common::job::ReplicaHealth;
use common::wire::api::{ReplicaView, ServiceList};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, get, wait_for};
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn replicas(kantctl: &Kantctl) -> anyhow::Result<Vec<ReplicaView>> {
    let list: ServiceList = kantctl.json(&["service", "show", "chat"])?;
    let roles = list.services.into_iter().flat_map(|service| service.roles);
    Ok(roles.flat_map(|role| role.replicas).collect())
}

/// The replicas once there are this many, all ready.
fn ready(kantctl: &Kantctl, count: usize) -> anyhow::Result<Vec<ReplicaView>> {
    wait_for(&format!("{count} ready replicas"), || {
        let now = replicas(kantctl)?;
        let is_ready = |one: &ReplicaView| one.health == Some(ReplicaHealth::Ready);
        Ok((now.len() == count && now.iter().all(is_ready)).then_some(now))
    })
}

/// A service of this submission, with these probes.
fn deploy(kantctl: &Kantctl, submit: &str, probes: &str) -> anyhow::Result<()> {
    let example = e2e::workspace().join("etc/examples/serve.py");
    std::fs::copy(example, kantctl.dir().join("serve.py"))?;
    let text = format!(
        "name = \"chat\"\ndrain_delay = \"0s\"\n\n[update]\nmin_healthy = \"0s\"\n\n\
         [[role]]\nname = \"worker\"\nmax = 2\nports = [\"http\"]\nsubmit = \"{submit}\"\n{probes}\n"
    );
    std::fs::write(kantctl.dir().join("chat.toml"), text)?;
    kantctl.ok(&["service", "deploy", "chat.toml", "--wait"])?;
    Ok(())
}

#[test]
fn a_replica_of_two_nodes_serves_on_its_first_and_is_replaced_as_a_whole() -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1", "n2"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "#!/bin/sh\necho $$ $PORT >> rank-$KANT_NODE_RANK\n\
                  [ $KANT_NODE_RANK = 0 ] && exec python3 serve.py\nexec sleep 1000\n";
    std::fs::write(kantctl.dir().join("gang.sh"), script)?;
    let probe = "readiness = { http = \"/health\", period = \"200ms\" }";
    deploy(&kantctl, "-N 2 --ntasks-per-node 1 --launch per-node gang.sh", probe)?;
    let first = ready(&kantctl, 1)?;
    let port = first[0].ports[0].number;
    assert!(get(port, "/health")?.contains("200 OK"));
    let other = kantctl.line("rank-1")?;
    let pid = other.trim().to_owned();
    assert!(pid.parse::<i32>().is_ok(), "the other node has no port: {other}");

    // The death of the process on the other node ends the replica on both.
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(pid.parse()?),
        nix::sys::signal::Signal::SIGKILL,
    )?;
    wait_for("another replica on both nodes", || {
        let now = ready(&kantctl, 1)?;
        let starts = kantctl.read("rank-1")?.lines().count();
        Ok((now[0].job != first[0].job && starts == 2).then_some(()))
    })?;
    assert_eq!(kantctl.read("rank-0")?.lines().count(), 2);
    Ok(())
}

#[test]
fn a_replica_and_its_probe_run_in_its_container() -> anyhow::Result<()> {
    if Person::other().is_none() || !has_runtime() {
        eprintln!("skipped: not root, or neither crun nor runc (apt-get install crun)");
        return Ok(());
    }
    let cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let image = cluster.dir().join("image");
    make_image(&image)?;
    assert!(!Path::new("/etc/word").exists(), "the file exists in the image alone");
    let submit = format!("--container {} --wrap 'exec sleep 1000'", image.display());
    let probe = "readiness = { command = \"cat /etc/word\", period = \"200ms\" }";
    deploy(&kantctl, &submit, probe)?;
    ready(&kantctl, 1)?;
    Ok(())
}

/// A process that is killed when dropped.
struct Follower(Child);

impl Drop for Follower {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_followed_file_has_the_addresses_of_the_ready_replicas() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let probe = "readiness = { http = \"/health\", period = \"200ms\" }";
    deploy(&kantctl, "serve.py", probe)?;
    let words =
        ["service", "endpoints", "chat", "--format", "plain", "--output", "eds", "--follow"];
    let mut command: Command = kantctl.command();
    let noted = kantctl.dir().join("noted");
    command.args(words).stdout(Stdio::null()).stderr(std::fs::File::create(&noted)?);
    let mut follower = Follower(command.spawn()?);
    let lines = |count: usize| {
        wait_for(&format!("{count} addresses"), || {
            let text = kantctl.read("eds").unwrap_or_default();
            Ok((text.lines().count() == count).then_some(text))
        })
    };
    let one = lines(1)?;
    kantctl.ok(&["service", "scale", "chat", "2"])?;
    let two = lines(2)?;
    assert!(two.contains(one.trim()), "{one} {two}");

    // It stays as it is while no controller answers, and empty once the service is gone.
    cluster.kill_controller()?;
    wait_for("a look without an answer", || Ok(kantctl.said("noted")))?;
    assert_eq!(kantctl.read("eds")?, two);
    cluster.start_controller()?;
    cluster.wait_for_nodes()?;
    kantctl.ok(&["service", "stop", "chat", "--wait"])?;
    let ended = wait_for("the end of the command", || Ok(follower.0.try_wait()?))?;
    assert_eq!(ended.code(), Some(1), "{}", kantctl.read("noted")?);
    assert_eq!(kantctl.read("eds")?.trim(), "");
    Ok(())
}
