//! The benchmark of kantd on a machine with 8 GPUs: its cost while idle, how fast steps start, and
//! the cost of sampling the GPUs of many steps. The GPU driver is a stand-in, so only the calls to
//! it are measured. It prints samples and sets no limits.

mod steps;

use crate::figures::Figures;
use anyhow::Context as _;
use common::config::NodeConfig;
use e2e::{Cluster, ClusterOptions, Machine};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use std::fs;
use std::time::{Duration, Instant};

/// Options of the benchmark of kantd
#[derive(clap::Args)]
pub struct Args {
    /// Number of times that each figure is measured
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds for which kantd is left idle
    #[arg(long, default_value_t = 60)]
    idle_seconds: u64,
}

/// Measures everything. The daemons are built in the same way as this program.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut figures = Figures::default();
    measure_idle_node(args, &mut figures)?;
    steps::measure(args.rounds, &mut figures)?;
    println!("{:#}", figures.to_json());
    Ok(())
}

/// Settings as installed, except for paths.
fn as_installed(config: &mut NodeConfig) {
    let usual = NodeConfig::default();
    config.health_seconds = usual.health_seconds;
    config.accounting_seconds = usual.accounting_seconds;
    config.log = usual.log;
}

fn measure_idle_node(args: &Args, figures: &mut Figures) -> anyhow::Result<()> {
    let nodes = vec![("g1", Machine::with_gpus("dgx-h100"))];
    let node = Some(as_installed as fn(&mut NodeConfig));
    let options = ClusterOptions { nodes, node, ..ClusterOptions::default() };
    let mut cluster = Cluster::start(options)?;
    let pid = cluster.node("g1")?.pid();
    // Work that follows a start has ended by then.
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

/// CPU time of all threads of a process, including those that have ended.
pub fn cpu_time(pid: u32) -> anyhow::Result<Duration> {
    let clock = clock_getcpuclockid(Pid::from_raw(i32::try_from(pid)?))?;
    Ok(Duration::from(clock_gettime(clock)?))
}

/// The resident memory of a process.
pub fn rss_mib(pid: u32) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.split_whitespace().next().context("no VmRSS")?.parse()?;
    Ok(kib / 1024.0)
}
