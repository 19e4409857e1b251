//! Clients that ask for too much, too often, or never listen: what they are told, that others are
//! served meanwhile, and that the controller's memory stays bounded. Never measures speed.

use common::node::Contact;
use common::wire::node::{FromNode, Hello, NODE_PATH, NODE_PROTOCOL, StepPhase, StepStatus, ToNode};
use e2e::{Cluster, ClusterOptions, Kantctl, Person};
use net::{Channel, ClusterKey, Endpoint, Identity, Keepalive, Role, connect_channel};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// What a controller may grow by under any of this. Lists of all that ask at once would be more.
const GROWTH_MIB: u64 = 256;

fn memory_mib(cluster: &mut Cluster) -> anyhow::Result<u64> {
    let pid = cluster.controller()?.pid();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    Ok(line.split_whitespace().nth(1).unwrap_or("0").parse::<u64>()? >> 10)
}

fn connect(cluster: &Cluster) -> anyhow::Result<UnixStream> {
    Ok(UnixStream::connect(cluster.dir().join("kantctld.sock"))?)
}

fn ask(cluster: &Cluster, head: &str) -> anyhow::Result<UnixStream> {
    let mut stream = connect(cluster)?;
    write!(stream, "{head}\r\nHost: kant\r\n\r\n")?;
    Ok(stream)
}

/// Waiting jobs whose list is some megabytes.
fn many_jobs(kantctl: &Kantctl) -> anyhow::Result<()> {
    let batch = kantctl.dir().join("jobs.txt");
    std::fs::write(&batch, "--hold --wrap true --comment 'one of many'\n".repeat(2000))?;
    kantctl.ok(&["submit", "--quiet", "--batch", &batch.display().to_string()]).map(drop)
}

#[test]
fn clients_that_ask_for_everything_or_never_listen_hurt_nobody() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::default())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    many_jobs(&kantctl)?;
    let before = memory_mib(&mut cluster)?;

    // A request of 100 MB is refused by what its head says.
    let mut large = ask(&cluster, "POST /v1/jobs HTTP/1.1\r\nContent-Type: application/json\r\n\
        Content-Length: 100000000")?;
    let mut answer = [0; 12];
    large.read_exact(&mut answer)?;
    assert_eq!(&answer, b"HTTP/1.1 413");

    // Some never say anything, some never read what they asked for.
    let idle: Vec<UnixStream> =
        (0..400).map(|_| connect(&cluster)).collect::<anyhow::Result<_>>()?;
    let deaf = (0..100).map(|_| ask(&cluster, "GET /v1/jobs HTTP/1.1"));
    let deaf: Vec<UnixStream> = deaf.collect::<anyhow::Result<_>>()?;
    kantctl.ok(&["status"])?;
    kantctl.submit(&["--hold"], "#!/bin/sh\ntrue\n")?;
    assert!(memory_mib(&mut cluster)? < before + GROWTH_MIB, "those who do not read cost memory");
    drop((idle, deaf));

    // All at once: each is answered in full, or told that there are too many.
    let hungry = (0..200).map(|_| ask(&cluster, "GET /v1/jobs HTTP/1.1\r\nConnection: close"));
    let hungry: Vec<UnixStream> = hungry.collect::<anyhow::Result<_>>()?;
    for mut stream in hungry {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let head = String::from_utf8_lossy(&answer[..answer.len().min(200)]).into_owned();
        let is_busy = ["429", "503"].iter().any(|code| head[9..].starts_with(code));
        assert!(is_busy || (head[9..].starts_with("200") && answer.len() > 1 << 20), "{head}");
    }
    kantctl.ok(&["status"])?;
    assert!(memory_mib(&mut cluster)? < before + GROWTH_MIB, "lists for many cost memory");
    Ok(())
}

#[test]
fn a_node_that_floods_reports_is_cut_off_or_borne_and_others_are_served() -> anyhow::Result<()> {
    let controller: Option<fn(&mut common::config::ControllerConfig)> =
        Some(|config| config.emulated = true);
    let mut cluster = Cluster::start(ClusterOptions { controller, ..Default::default() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    // One that behaves, to take the inventory of.
    let _emulator = cluster.emulate(&["--nodes", "1"])?;
    let node = e2e::wait_for("a node", || Ok(kantctl.nodes()?.nodes.into_iter().next()))?;
    let before = memory_mib(&mut cluster)?;

    let config = std::fs::read_to_string(cluster.dir().join("kantctld.toml"))?;
    let config: common::config::ControllerConfig = common::config::read("kantctld.toml", &config)?;
    let key = ClusterKey::load(&cluster.dir().join("cluster.key"))?;
    let identity = Identity::new(&key, Role::Node("flood".to_owned()))?;
    let endpoint = Endpoint::Tls { addr: config.listen, identity };
    let hello = Hello {
        protocol: NODE_PROTOCOL,
        version: "0".to_owned(),
        name: "flood".parse()?,
        address: "127.0.0.1".to_owned(),
        identity: "flood".to_owned(),
        inventory: node.inventory,
        steps: Vec::new(),
        starts_tasks: false,
        feeds_tasks: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let sent = runtime.block_on(async {
        let channel: Channel<FromNode, ToNode> =
            connect_channel(&endpoint, NODE_PATH, Keepalive::default()).await?;
        channel.send(&FromNode::Hello(Box::new(hello))).await?;
        let mut sent = 0_u32;
        for job in 1..=50_000 {
            let id = format!("{job}").parse().map(|key| common::id::AttemptId {
                key,
                attempt: common::id::Attempt(1),
            })?;
            let report = FromNode::Report(vec![StepStatus { id, phase: StepPhase::Preparing }]);
            if channel.send(&report).await.is_err() {
                break;
            }
            sent += 1;
        }
        anyhow::Ok(sent)
    })?;
    assert!(sent > 0);
    kantctl.submit(&["--hold"], "#!/bin/sh\ntrue\n")?;
    let nodes = kantctl.nodes()?.nodes;
    let well = nodes.iter().find(|node| node.name.as_str() == "em1");
    assert!(well.is_some_and(|node| node.contact == Contact::Connected), "{nodes:?}");
    assert!(memory_mib(&mut cluster)? < before + GROWTH_MIB);
    Ok(())
}
