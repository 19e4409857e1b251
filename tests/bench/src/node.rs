//! kantd on a machine with 8 GPUs, and the steps it launches: what it costs while nothing happens,
//! how fast steps start, what looking at the GPUs of many takes. The GPUs are the stand-in's, so
//! that of the driver only the calls are measured. Prints samples; never judges them.

mod steps;

use crate::figures::Figures;
use anyhow::Context as _;
use common::config::NodeConfig;
use e2e::{Cluster, ClusterOptions, Machine};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use std::fs;
use std::time::{Duration, Instant};

/// What to measure
#[derive(clap::Args)]
pub struct Args {
    /// How often each is measured
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// For how long kantd is left alone, in seconds
    #[arg(long, default_value_t = 60)]
    idle_seconds: u64,
}

/// Measures everything; the daemons are built like this program.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut figures = Figures::default();
    idle(args, &mut figures)?;
    steps::measure(args.rounds, &mut figures)?;
    println!("{:#}", figures.to_json());
    Ok(())
}

/// As it is installed, but for where it lies.
fn as_installed(config: &mut NodeConfig) {
    let usual = NodeConfig::default();
    config.health_seconds = usual.health_seconds;
    config.accounting_seconds = usual.accounting_seconds;
    config.log = usual.log;
}

fn idle(args: &Args, figures: &mut Figures) -> anyhow::Result<()> {
    let nodes = vec![("g1", Machine::with_gpus("dgx-h100"))];
    let node = Some(as_installed as fn(&mut NodeConfig));
    let options = ClusterOptions { nodes, node, ..ClusterOptions::default() };
    let mut cluster = Cluster::start(options)?;
    let pid = cluster.node("g1")?.pid();
    // What a start leaves to be done is done by then.
    std::thread::sleep(Duration::from_secs(5));
    for _ in 0..args.rounds {
        let (before, begin) = (cpu_time(pid)?, Instant::now());
        std::thread::sleep(Duration::from_secs(args.idle_seconds));
        let used = cpu_time(pid)?.saturating_sub(before);
        figures.add("kantd RSS, idle, 8 GPUs", "MiB", rss_mib(pid)?);
        let percent = used.as_secs_f64() * 100.0 / begin.elapsed().as_secs_f64();
        figures.add("kantd CPU, idle, 8 GPUs", "% of a core", percent);
    }
    Ok(())
}

/// What all its threads have run, those that have ended too.
fn cpu_time(pid: u32) -> anyhow::Result<Duration> {
    let clock = clock_getcpuclockid(Pid::from_raw(i32::try_from(pid)?))?;
    Ok(Duration::from(clock_gettime(clock)?))
}

/// What of a process is in memory.
fn rss_mib(pid: u32) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.split_whitespace().next().context("no VmRSS")?.parse()?;
    Ok(kib / 1024.0)
}
