//! What probes cost kantd: a replica is probed as often as it goes, and the CPU time of kantd is
//! divided by the probes that arrived.

use crate::figures::Figures;
use crate::node::cpu_time;
use anyhow::{Context as _, ensure};
use common::wire::api::ServiceList;
use e2e::{Cluster, ClusterOptions, Person, wait_for};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long kantd is observed.
const SPAN: Duration = Duration::from_secs(10);
/// Probes per second of 500 replicas with a readiness and a liveness probe every ten seconds.
const USUAL_PER_SECOND: f64 = 100.0;
const SERVICE: &str = "\
name = \"probed\"
[[role]]
name = \"worker\"
submit = \"--cpus-per-task 1 --mem 64M idle.sh\"
min = 1
ports = [\"http\"]
readiness = { http = \"/\", period = \"2ms\" }
liveness = { http = \"/\", period = \"2ms\", failures = 10000 }
";

/// Measures kantd with one replica whose answers this process gives, so that it can count them.
pub fn cost(rounds: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    std::fs::write(kantctl.dir().join("idle.sh"), "#!/bin/sh\nexec sleep 1d\n")?;
    std::fs::write(kantctl.dir().join("probed.toml"), SERVICE)?;
    kantctl.ok(&["service", "deploy", "probed.toml"])?;
    let port = wait_for("the port", || {
        let list: ServiceList = kantctl.json(&["service", "show", "probed"])?;
        let mut replicas = list.services.iter().flat_map(|one| &one.roles[0].replicas);
        Ok(replicas.find_map(|one| one.ports.first().map(|port| port.number)))
    })?;
    let answered = answer_all(port)?;
    let pid = cluster.node("n1")?.pid();
    wait_for("the first probes", || Ok((answered.load(Ordering::Relaxed) > 10).then_some(())))?;
    for _ in 0..rounds {
        let (cpu, count) = (cpu_time(pid)?, answered.load(Ordering::Relaxed));
        std::thread::sleep(SPAN);
        let cpu = cpu_time(pid)?.checked_sub(cpu).context("the CPU time went back")?;
        let count = answered.load(Ordering::Relaxed) - count;
        ensure!(count > 100, "only {count} probes came");
        let each = cpu.as_secs_f64() / f64::from(count);
        figures.add("CPU time of kantd for each HTTP probe", "us", each * 1e6);
        let usual = each * USUAL_PER_SECOND * 100.0;
        figures.add("kantd with 500 replicas, 2 probes each every 10 s", "% of a core", usual);
    }
    Ok(())
}

/// Answers each request on a port with 200, until the benchmark ends.
fn answer_all(port: u16) -> anyhow::Result<Arc<AtomicU32>> {
    let listener = TcpListener::bind(("0.0.0.0", port))?;
    let answered = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&answered);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            // A probe that was given up needs no answer.
            let _ = stream.read(&mut head);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    Ok(answered)
}
