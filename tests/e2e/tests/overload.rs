//! Clients that send too many or too large requests, or do not read answers: they get errors, other
//! users are served meanwhile, and the controller's memory stays bounded.

mod connections;

use common::node::Contact;
use common::wire::node::{FromNode, Hello, NODE_PATH, StepPhase, StepStatus, ToNode};
use connections::{Connections, memory_mib};
use e2e::{Cluster, ClusterOptions, Kantctl, Person};
use net::{Channel, ClusterKeys, Endpoint, Identity, Keepalive, connect_channel};
use std::io::Write as _;

/// The bound on the growth of the controller's memory. One user's pending answers may take a
/// quarter of it; all requested lists together would take three times as much.
const GROWTH_MIB: u64 = 256;
/// Waiting jobs, whose list takes almost a megabyte.
const JOBS: usize = 1000;
const CLIENTS: usize = 1000;

fn many_jobs(kantctl: &Kantctl) -> anyhow::Result<()> {
    let tasks = format!("--array=1-{JOBS}");
    kantctl.submit(&["--hold", &tasks], "#!/bin/sh\ntrue\n").map(drop)
}

/// Checks that another user is served meanwhile.
fn is_served(kantctl: &Kantctl) -> anyhow::Result<()> {
    let listed: common::wire::api::JobList = kantctl.json(&["queue"])?;
    assert!(listed.jobs.len() >= JOBS);
    kantctl.ok(&["status"])?;
    kantctl.submit(&["--hold"], "#!/bin/sh\ntrue\n").map(drop)
}

#[test]
fn a_client_that_asks_for_too_much_or_does_not_read_delays_only_itself() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::default())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    many_jobs(&kantctl)?;
    let before = memory_mib(&mut cluster)?;
    let mut connections = Connections::new(&cluster)?;

    // Some clients do not read their answers. Only root can act as two users.
    let not_reading = connections.ask(CLIENTS, "GET /v1/jobs HTTP/1.1\r\n")?;
    if e2e::is_root() {
        is_served(&kantctl)?;
    }
    assert!(
        memory_mib(&mut cluster)? < before + GROWTH_MIB,
        "clients that do not read cost memory"
    );
    drop(not_reading);
    is_served(&kantctl)?;

    // All at once: each gets a full answer or an error.
    let reading = connections.ask(CLIENTS, "GET /v1/jobs HTTP/1.1\r\nConnection: close\r\n")?;
    let answers = connections.read(reading)?;
    let served = answers.iter().filter(|answer| answer.status == 200);
    assert!(served.clone().count() > 0);
    for answer in served {
        assert!(answer.list()?.jobs.len() >= JOBS);
    }
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(answer.status, 429, "{answer:?}");
        let text = answer.text();
        assert!(text.contains("too_many_requests") && text.contains("hint"), "{text}");
    }
    is_served(&kantctl)?;
    assert!(memory_mib(&mut cluster)? < before + GROWTH_MIB, "lists for many cost memory");
    Ok(())
}

#[test]
fn ten_thousand_idle_connections_do_not_keep_other_users_out() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::default())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    many_jobs(&kantctl)?;
    let before = memory_mib(&mut cluster)?;
    let mut connections = Connections::new(&cluster)?;
    let idle = connections.connect(10_000)?;
    if e2e::is_root() {
        is_served(&kantctl)?;
    }
    assert!(memory_mib(&mut cluster)? < before + GROWTH_MIB, "connections cost memory");
    // Connections beyond the user's limit got an error that a program can parse.
    for refused in connections.refused(&idle)? {
        assert_eq!(refused.status, 429);
        assert!(refused.text().contains("too_many_connections"), "{refused:?}");
    }
    drop(idle);
    is_served(&kantctl)
}

#[test]
fn scripts_beyond_the_memory_limit_are_refused_and_memory_is_freed_later() -> anyhow::Result<()> {
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
    assert!(
        memory_mib(&mut cluster)? >= before + 100,
        "the scripts must take memory for this test to mean anything"
    );
    let words: Vec<&str> = ["cancel"].into_iter().chain(jobs.iter().map(String::as_str)).collect();
    kantctl.ok(&words)?;
    // Ended jobs are removed once a minute.
    let until = std::time::Instant::now() + 3 * e2e::DEADLINE;
    e2e::wait_until(until, "the memory to be freed", || {
        Ok((memory_mib(&mut cluster)? < before + 50).then_some(()))
    })
}

#[test]
fn a_request_of_a_hundred_megabytes_is_refused_by_its_content_length() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::default())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    many_jobs(&kantctl)?;
    let before = memory_mib(&mut cluster)?;
    let mut connections = Connections::new(&cluster)?;
    let head = "POST /v1/jobs HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\n";
    let mut requests = connections.ask(1, &format!("{head}Content-Length: 100000000\r\n"))?;
    // A request without a length is stopped once it has sent too much.
    requests.extend(connections.ask(1, &format!("{head}Transfer-Encoding: chunked\r\n"))?);
    let chunk = [&b"100000\r\n"[..], &vec![b' '; 1 << 20], b"\r\n"].concat();
    // The controller may close the connection before everything is sent.
    let _ = (0..100).try_for_each(|_| requests[1].write_all(&chunk));
    for answer in connections.read(requests)? {
        assert_eq!(answer.status, 413, "{answer:?}");
        assert!(answer.text().contains("several batches"), "{answer:?}");
    }
    assert!(memory_mib(&mut cluster)? < before + GROWTH_MIB, "large requests cost memory");
    is_served(&kantctl)
}

#[test]
fn a_node_that_floods_the_controller_with_reports_does_not_disturb_others() -> anyhow::Result<()> {
    let controller: Option<fn(&mut common::config::ControllerConfig)> =
        Some(|config| config.emulated = true);
    let mut cluster = Cluster::start(ClusterOptions { controller, ..Default::default() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    many_jobs(&kantctl)?;
    // A regular node, whose inventory is copied.
    let _emulator = cluster.emulate(&["--nodes", "1"])?;
    let node = e2e::wait_for("a node", || Ok(kantctl.nodes()?.nodes.into_iter().next()))?;
    let before = memory_mib(&mut cluster)?;

    let config = std::fs::read_to_string(cluster.dir().join("kantctld.toml"))?;
    let config: common::config::ControllerConfig = common::config::read("kantctld.toml", &config)?;
    let key = ClusterKeys::load(&cluster.dir().join("cluster.key"))?.issuing;
    let identity = Identity::emulated_node(&key, "flood")?;
    let endpoint = Endpoint::Tls { addr: config.listen, identity };
    let hello = Hello { inventory: node.inventory, ..testkit::hello("flood", Vec::new()) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let sent = runtime.block_on(async {
        let channel: Channel<FromNode, ToNode> =
            connect_channel(&endpoint, NODE_PATH, Keepalive::default()).await?;
        channel.send(&FromNode::Hello(Box::new(hello))).await?;
        let mut sent = 0_u32;
        for job in 1..=50_000 {
            let id = testkit::attempt(job, 1);
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
