//! `cargo xtask demo --service`: a service on real daemons, with a client that asks all the time.
//! Every request must be answered, whatever happens meanwhile.

use super::print_step;
use anyhow::{Context as _, ensure};
use e2e::{Cluster, Daemon, Kantctl, free_port};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// One replica for each request in flight, and short times, so that the demonstration is short.
const POLICY: &str = "autoscale = { zero_grace_seconds = 2, concurrency = { target = 1, \
                      stable_seconds = 6, panic_seconds = 2 } }\n";

/// Requests that are answered, those whose replica died and that were answered by another one, and
/// those that failed.
#[derive(Debug, Default)]
struct Counts {
    answered: AtomicU64,
    repeated: AtomicU64,
    failed: AtomicU64,
    stop: AtomicBool,
}

/// Shows the service. Returns its router.
///
/// # Errors
/// When a step fails, or a request was not answered.
pub fn show(cluster: &mut Cluster, kantctl: &Kantctl) -> anyhow::Result<Daemon> {
    let port = free_port()?;
    let text = copy_example(kantctl, port)?;
    let write = |changes: &[(&str, &str)]| {
        let text = changes.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
        std::fs::write(kantctl.dir().join("serve.toml"), text)
    };
    let router = cluster.start_router("node-1")?;
    run(kantctl, &["service", "deploy", "serve.toml", "--wait"])?;
    run(kantctl, &["service", "show", "chat"])?;
    print_step(&format!("three clients ask http://127.0.0.1:{port}/generate all the time"));
    let counts = Arc::new(Counts::default());
    e2e::wait_for("the router", || Ok(ask(port).ok()))?;
    let clients: Vec<JoinHandle<()>> = (0..3).map(|_| client(port, &counts)).collect();

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
    print_step("kill -9 of a node daemon and of the controller");
    cluster.kill_node("node-1")?;
    cluster.kill_controller()?;
    cluster.start_controller()?;
    cluster.start_node("node-1")?;
    cluster.wait_for_nodes()?;
    ready(kantctl, 3)?;

    print_step("a revision without a minimum, and no more requests");
    write(&[("VERSION=1", "VERSION=3"), ("min = 1", "min = 0")])?;
    run(kantctl, &["service", "deploy", "serve.toml", "--wait"])?;
    counts.stop.store(true, Relaxed);
    clients.into_iter().for_each(|client| drop(client.join()));
    ready(kantctl, 0)?;
    print_step("one request, which is held until a replica has started for it");
    ask(port)?;
    counts.answered.fetch_add(1, Relaxed);
    run(kantctl, &["service", "events", "chat"])?;

    let [answered, repeated, failed] =
        [&counts.answered, &counts.repeated, &counts.failed].map(|count| count.load(Relaxed));
    print_step(&format!(
        "{answered} requests were answered ({repeated} of them by another replica, because theirs \
         was killed), {failed} were not"
    ));
    ensure!(failed == 0, "{failed} requests were not answered");
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
        let is_steady = service["state"] == "steady" && service["roles"][0]["ready"] == count;
        Ok(is_steady.then_some(()))
    })
}

fn client(port: u16, counts: &Arc<Counts>) -> JoinHandle<()> {
    let counts = Arc::clone(counts);
    std::thread::spawn(move || {
        while !counts.stop.load(Relaxed) {
            // A stream that breaks off is asked for once more, as a client does whose requests
            // may be repeated.
            let count = match ask(port) {
                Ok(()) => &counts.answered,
                Err(first) => match ask(port) {
                    Ok(()) => {
                        counts.repeated.fetch_add(1, Relaxed);
                        &counts.answered
                    }
                    Err(second) => {
                        eprintln!("(a request failed: {first:#}; again: {second:#})");
                        &counts.failed
                    }
                },
            };
            count.fetch_add(1, Relaxed);
        }
    })
}

/// One request for a stream of five tokens, all of which must come.
fn ask(port: u16) -> anyhow::Result<()> {
    let answer = get(port, "/generate?n=5")?;
    ensure!(answer.contains("token 4 "), "it was answered: {answer}");
    Ok(())
}

fn get(port: u16, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
