//! `cargo xtask demo --service`: a service on real daemons, with clients that ask all the time.
//! Every request must be answered, whatever happens meanwhile: at once, or, if its replica was
//! killed, by another one when it is made again.

use super::print_step;
use anyhow::{Context as _, ensure};
use e2e::{Cluster, Daemon, Kantctl, WebAnswers, WebClient, free_port, get};

/// One replica for each request in flight, and short times, so that the demonstration is short.
const POLICY: &str = "autoscale = { zero_grace_seconds = 2, concurrency = { target = 1, \
                      stable_seconds = 6, panic_seconds = 2 } }\n";

/// A stream of five tokens, and its last one.
const STREAM: &str = "/generate?n=5";
const LAST: &str = "token 4 ";

/// Shows the service. Returns its router.
///
/// # Errors
/// When a step fails, or a request was not answered.
pub fn show(cluster: &mut Cluster, kantctl: &Kantctl) -> anyhow::Result<Daemon> {
    // By way of a node, which finds the leading controller.
    let kantctl = &kantctl.on(&cluster.node_socket("node-2"));
    let port = free_port()?;
    let text = copy_example(kantctl, port)?;
    let write = |changes: &[(&str, &str)]| {
        let text = changes.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
        std::fs::write(kantctl.dir().join("serve.toml"), text)
    };
    let router = cluster.start_router("node-1")?;
    run(kantctl, &["service", "deploy", "serve.toml", "--wait"])?;
    run(kantctl, &["service", "show", "chat"])?;
    print_step(&format!("three clients ask http://127.0.0.1:{port}{STREAM} all the time"));
    e2e::wait_for("the router", || Ok(get(port, STREAM).ok().filter(|one| one.contains(LAST))))?;
    let start = |_| WebClient::start_repeating(port, STREAM, LAST);
    let clients: Vec<WebClient> = (0..3).map(start).collect();

    print_step("the load needs three replicas");
    ready(kantctl, 3)?;
    run(kantctl, &["service", "explain", "chat"])?;
    print_step("a new revision, which replaces them one by one");
    write(&[("VERSION=1", "VERSION=2")])?;
    run(kantctl, &["service", "deploy", "serve.toml", "--wait"])?;
    print_step("a broken revision, which is reverted");
    write(&[("VERSION=1", "BROKEN=1")])?;
    let refused = kantctl.run(&["service", "deploy", "serve.toml", "--wait"])?;
    ensure!(refused.code != 0, "the broken revision was accepted");
    print!("{}", refused.stderr);
    ready(kantctl, 3)?;
    kill_a_replica(port)?;
    print_step("kill -9 of a node daemon and of the leading controller");
    cluster.kill_node("node-1")?;
    let leader = cluster.kill_leader()?;
    println!("{leader} led; the next one answers:");
    print!("{}", kantctl.ok(&["service", "list"])?);
    cluster.start_node("node-1")?;
    ready(kantctl, 3)?;
    cluster.revive(&leader)?;
    cluster.wait_for_nodes()?;
    ready(kantctl, 3)?;

    print_step("a revision without a minimum, and no more requests");
    write(&[("VERSION=1", "VERSION=3"), ("min = 1", "min = 0")])?;
    run(kantctl, &["service", "deploy", "serve.toml", "--wait"])?;
    let mut all = WebAnswers::default();
    for answers in clients.into_iter().map(WebClient::answers) {
        all.answered += answers.answered;
        all.repeated += answers.repeated;
        all.failed.extend(answers.failed);
    }
    ready(kantctl, 0)?;
    print_step("one request, which is held until a replica has started for it");
    let held = get(port, STREAM)?;
    ensure!(held.contains(LAST), "it was answered: {held}");
    all.answered += 1;
    run(kantctl, &["service", "events", "chat"])?;
    let woken = "role worker scaled from 0 to 1 replicas: ";
    ensure!(kantctl.ok(&["service", "events", "chat"])?.contains(woken), "none was started for it");

    let WebAnswers { answered, repeated, failed } = all;
    print_step(&format!(
        "{answered} requests were answered ({repeated} of them by another replica, because theirs \
         was killed), {} were not",
        failed.len()
    ));
    ensure!(failed.is_empty(), "requests were not answered: {failed:?}");
    Ok(router)
}

/// Ends the process of the replica that answers, as if it had crashed.
fn kill_a_replica(port: u16) -> anyhow::Result<()> {
    let answer = get(port, "/")?;
    let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
    let identity: serde_json::Value = serde_json::from_str(body).context(answer.clone())?;
    let pid = i32::try_from(identity["pid"].as_i64().unwrap_or_default())?;
    ensure!(pid > 1, "no pid in the answer: {body}");
    print_step(&format!("kill -9 {pid}, which is replica {}", identity["replica"]));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL)?;
    Ok(())
}

/// Copies the example with a free port, and with a health deadline that suits a demonstration.
fn copy_example(kantctl: &Kantctl, port: u16) -> anyhow::Result<String> {
    let examples = e2e::workspace().join("etc/examples");
    let read = |file: &str| {
        let path = examples.join(file);
        std::fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))
    };
    let text = read("serve.toml")?
        .replace("port = 8000", &format!("port = {port}"))
        .replace("healthy_deadline = \"20s\"", "healthy_deadline = \"5s\"")
        .replace("max = 4", "max = 3")
        .replace("ports = [\"http\"]\n", &format!("ports = [\"http\"]\n{POLICY}"));
    std::fs::write(kantctl.dir().join("serve.toml"), &text)?;
    std::fs::write(kantctl.dir().join("serve.py"), read("serve.py")?)?;
    Ok(text)
}

fn run(kantctl: &Kantctl, words: &[&str]) -> anyhow::Result<()> {
    print_step(&format!("kantctl {}", words.join(" ")));
    print!("{}", kantctl.ok(words)?);
    Ok(())
}

/// Waits until this number of replicas is ready, and nothing else is going on.
fn ready(kantctl: &Kantctl, count: usize) -> anyhow::Result<()> {
    e2e::wait_for(&format!("{count} ready replicas"), || {
        let list: serde_json::Value = kantctl.json(&["service", "show", "chat"])?;
        let service = &list["services"][0];
        let role = &service["roles"][0];
        // Replicas that still end count, too.
        let there = role["replicas"].as_array().map_or(0, Vec::len);
        let is_so = role["ready"] == count && there == count && service["state"] == "steady";
        Ok(is_so.then_some(()))
    })
}
