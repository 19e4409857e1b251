//! Clients that ask for too much, too often, or never listen: what they are told, that others are
//! served meanwhile, and that the controller's memory stays bounded. Never measures speed.

mod overload {
    pub mod crowd;
}

use common::node::Contact;
use common::wire::node::{
    FromNode, Hello, NODE_PATH, NODE_PROTOCOL, StepPhase, StepStatus, ToNode,
};
use e2e::{Cluster, ClusterOptions, Kantctl, Person};
use net::{Channel, ClusterKey, Endpoint, Identity, Keepalive, Role, connect_channel};
use overload::crowd::{Crowd, memory_mib};
use std::io::Write as _;

/// What a controller may grow by under any of this: a quarter of it is what one user may have lie
/// there as answers. All lists that are asked for here would be three times as much.
const GROWTH_MIB: u64 = 256;
/// Waiting jobs, whose list is most of a megabyte.
const JOBS: usize = 1000;
const CLIENTS: usize = 1000;

fn many_jobs(kantctl: &Kantctl) -> anyhow::Result<()> {
    let tasks = format!("--array=1-{JOBS}");
    kantctl.submit(&["--hold", &tasks], "#!/bin/sh\ntrue\n").map(drop)
}

/// Somebody who asks for nothing special, while others do.
fn is_served(kantctl: &Kantctl) -> anyhow::Result<()> {
    let listed: common::wire::api::JobList = kantctl.json(&["queue"])?;
    assert!(listed.jobs.len() >= JOBS);
    kantctl.ok(&["status"])?;
    kantctl.submit(&["--hold"], "#!/bin/sh\ntrue\n").map(drop)
}

#[test]
fn who_asks_for_everything_or_never_listens_waits_for_themselves_alone() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::default())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    many_jobs(&kantctl)?;
    let before = memory_mib(&mut cluster)?;
    let mut crowd = Crowd::new(&cluster)?;

    // Some never read what they asked for. Only root can play two users.
    let deaf = crowd.ask(CLIENTS, "GET /v1/jobs HTTP/1.1\r\n")?;
    if e2e::is_root() {
        is_served(&kantctl)?;
    }
    assert!(memory_mib(&mut cluster)? < before + GROWTH_MIB, "those who do not read cost memory");
    drop(deaf);
    is_served(&kantctl)?;

    // All at once: each is answered in full, or told that they are too many.
    let hungry = crowd.ask(CLIENTS, "GET /v1/jobs HTTP/1.1\r\nConnection: close\r\n")?;
    let answers = crowd.read(hungry)?;
    let served = answers.iter().filter(|answer| answer.status == 200);
    assert!(served.clone().count() > 0);
    for answer in served {
        assert!(answer.list()?.jobs.len() >= JOBS);
    }
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(answer.status, 429, "{answer:?}");
        let told = answer.text();
        assert!(told.contains("too_many_requests") && told.contains("hint"), "{told}");
    }
    is_served(&kantctl)?;
    assert!(memory_mib(&mut cluster)? < before + GROWTH_MIB, "lists for many cost memory");
    Ok(())
}

#[test]
fn ten_thousand_connections_that_say_nothing_keep_nobody_else_out() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::default())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    many_jobs(&kantctl)?;
    let before = memory_mib(&mut cluster)?;
    let mut crowd = Crowd::new(&cluster)?;
    let idle = crowd.connect(10_000)?;
    if e2e::is_root() {
        is_served(&kantctl)?;
    }
    assert!(memory_mib(&mut cluster)? < before + GROWTH_MIB, "connections cost memory");
    // Those beyond a user's part were told so, and a program can read it.
    for refused in crowd.refused(&idle)? {
        assert_eq!(refused.status, 429);
        assert!(refused.text().contains("too_many_connections"), "{refused:?}");
    }
    drop(idle);
    is_served(&kantctl)
}

#[test]
fn scripts_that_take_too_much_are_refused_and_what_they_took_goes_back() -> anyhow::Result<()> {
    let controller: Option<fn(&mut common::config::ControllerConfig)> =
        Some(|config| config.user_text_mib = 128);
    let mut cluster = Cluster::start(ClusterOptions { controller, ..Default::default() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let before = memory_mib(&mut cluster)?;
    let mut jobs = Vec::new();
    let refused = loop {
        let script = format!("#!/bin/sh\n# {}\n{}", jobs.len(), "# some text\n".repeat(340_000));
        match kantctl.submit(&["--hold"], &script) {
            Ok(job) => jobs.push(job),
            Err(refused) => break format!("{refused:#}"),
        }
        assert!(jobs.len() < 40, "nothing is refused");
    };
    assert!(refused.contains("of your unfinished jobs take"), "{refused}");
    assert!(memory_mib(&mut cluster)? >= before + 100, "else nothing is shown here");
    let words: Vec<&str> = ["cancel"].into_iter().chain(jobs.iter().map(String::as_str)).collect();
    kantctl.ok(&words)?;
    // What is over is forgotten once a minute.
    let until = std::time::Instant::now() + 3 * e2e::DEADLINE;
    e2e::wait_until(until, "the memory to go back", || {
        Ok((memory_mib(&mut cluster)? < before + 50).then_some(()))
    })
}

#[test]
fn a_request_of_a_hundred_megabytes_is_refused_by_what_its_head_says() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::default())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    many_jobs(&kantctl)?;
    let before = memory_mib(&mut cluster)?;
    let mut crowd = Crowd::new(&cluster)?;
    let head = "POST /v1/jobs HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\n";
    let mut asked = crowd.ask(1, &format!("{head}Content-Length: 100000000\r\n"))?;
    // One that does not say how much it sends is stopped when it has sent too much.
    asked.extend(crowd.ask(1, &format!("{head}Transfer-Encoding: chunked\r\n"))?);
    let chunk = [&b"100000\r\n"[..], &vec![b' '; 1 << 20], b"\r\n"].concat();
    // The controller may hang up before all of it is sent.
    let _ = (0..100).try_for_each(|_| asked[1].write_all(&chunk));
    for answer in crowd.read(asked)? {
        assert_eq!(answer.status, 413, "{answer:?}");
        assert!(answer.text().contains("several batches"), "{answer:?}");
    }
    assert!(memory_mib(&mut cluster)? < before + GROWTH_MIB, "large requests cost memory");
    is_served(&kantctl)
}

#[test]
fn a_node_that_floods_reports_is_cut_off_or_borne_and_others_are_served() -> anyhow::Result<()> {
    let controller: Option<fn(&mut common::config::ControllerConfig)> =
        Some(|config| config.emulated = true);
    let mut cluster = Cluster::start(ClusterOptions { controller, ..Default::default() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    many_jobs(&kantctl)?;
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
        passes_streams: false,
        feeds_tasks: false,
        signals_jobs: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let sent = runtime.block_on(async {
        let channel: Channel<FromNode, ToNode> =
            connect_channel(&endpoint, NODE_PATH, Keepalive::default()).await?;
        channel.send(&FromNode::Hello(Box::new(hello))).await?;
        let mut sent = 0_u32;
        for job in 1..=50_000 {
            let id = format!("{job}")
                .parse()
                .map(|key| common::id::AttemptId { key, attempt: common::id::Attempt(1) })?;
            let report = FromNode::Report(vec![StepStatus { id, phase: StepPhase::Preparing }]);
            if channel.send(&report).await.is_err() {
                break;
            }
            sent += 1;
            if job % 10_000 == 0 {
                is_served(&kantctl)?;
            }
        }
        anyhow::Ok(sent)
    })?;
    assert!(sent > 0);
    let nodes = kantctl.nodes()?.nodes;
    let well = nodes.iter().find(|node| node.name.as_str() == "em1");
    assert!(well.is_some_and(|node| node.contact == Contact::Connected), "{nodes:?}");
    assert!(memory_mib(&mut cluster)? < before + GROWTH_MIB);
    Ok(())
}
