//! The benchmark of one controller and one node on loopback, with optimised builds and durable
//! storage: latencies and rates as seen by a user.

use super::figures::Figures;
use anyhow::Context as _;
use e2e::{Build, Cluster, ClusterOptions, Kantctl, Machine, Person};
use std::time::{Duration, Instant, SystemTime};

const SUBMITS: usize = 200;
const TRIVIAL_JOBS: usize = 200;
const STARTS: usize = 15;

/// Measures everything `rounds` times.
///
/// # Errors
/// When a daemon cannot be built or does not answer.
pub fn measure(rounds: u32) -> anyhow::Result<Figures> {
    let bar = indicatif::ProgressBar::new(u64::from(rounds) * 6);
    let style = indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?;
    bar.set_style(style);
    let mut figures = Figures::default();
    for _ in 0..rounds {
        let nodes = vec![("n1", Machine::cpu())];
        let options = ClusterOptions { nodes, build: Build::Release, ..Default::default() };
        let mut cluster = Cluster::start(options)?;
        let kantctl = cluster.kantctl(Person::plain())?;
        let step = |name: &'static str| {
            bar.set_message(name);
            bar.inc(1);
        };
        step("fsync");
        figures.add(
            "fdatasync of 512 B on this disk",
            "ms",
            e2e::sync_times(cluster.dir())?.into_iter().map(milliseconds),
        );
        step("memory");
        figures.add("kantctld RSS, idle", "MiB", [rss_mib(cluster.controller()?.pid())?]);
        figures.add("kantd RSS, idle", "MiB", [rss_mib(cluster.node("n1")?.pid())?]);
        step("start latency");
        figures.add("submit to first command, idle", "ms", start_latencies(&kantctl)?);
        step("one client");
        figures.add("submissions/s, CLI, 1 client", "1/s", [submit_rate(&kantctl, 1)?]);
        step("eight clients");
        figures.add("submissions/s, CLI, 8 clients", "1/s", [submit_rate(&kantctl, 8)?]);
        step("trivial jobs");
        figures.add("200 trivial jobs to completion", "jobs/s", [job_rate(&kantctl)?]);
        cluster.wind_down()?;
    }
    bar.finish_and_clear();
    Ok(figures)
}

fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}

fn rss_mib(pid: u32) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.split_whitespace().nth(1).context("no VmRSS")?.parse()?;
    Ok(kib / 1024.0)
}

/// The time from before kantctl is started to the clock that the job's first command reads.
fn start_latencies(kantctl: &Kantctl) -> anyhow::Result<Vec<f64>> {
    let script = "#!/bin/sh\ndate +%s%N > began\n";
    let began = kantctl.dir().join("began");
    let mut samples = Vec::new();
    for _ in 0..STARTS {
        let before = SystemTime::now();
        let id = kantctl.submit(&["-o", "/dev/null", "--mem=16M"], script)?;
        kantctl.ok(&["wait", &id])?;
        let nanoseconds: u64 = std::fs::read_to_string(&began)?.trim().parse()?;
        let first = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds);
        samples.push(milliseconds(first.duration_since(before)?));
    }
    Ok(samples)
}

/// Submissions per second. The jobs are held, so that only their acceptance is measured.
fn submit_rate(kantctl: &Kantctl, clients: usize) -> anyhow::Result<f64> {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let each = || {
            for _ in 0..SUBMITS / clients {
                kantctl.ok(&["submit", "--hold", "--wrap", "true"])?;
            }
            anyhow::Ok(())
        };
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(each)).collect();
        threads.into_iter().try_for_each(|t| t.join().ok().context("a client panicked")?)
    })?;
    #[allow(clippy::cast_precision_loss)]
    let rate = (SUBMITS / clients * clients) as f64 / begin.elapsed().as_secs_f64();
    kantctl.cancel_everything()?;
    Ok(rate)
}

/// Jobs per second, from before the submission of one array to the end of its last task.
fn job_rate(kantctl: &Kantctl) -> anyhow::Result<f64> {
    let array = format!("--array=1-{TRIVIAL_JOBS}");
    let begin = Instant::now();
    let id = kantctl.submit(&[&array, "-o", "/dev/null", "--mem=16M"], "#!/bin/sh\ntrue\n")?;
    kantctl.ok(&["wait", &id])?;
    #[allow(clippy::cast_precision_loss)]
    let rate = TRIVIAL_JOBS as f64 / begin.elapsed().as_secs_f64();
    Ok(rate)
}
