//! One row of the table of rounds, measured in a process of its own, so that its memory can be
//! measured. It prints nothing but the row.
//!
//! - takeover: a new leader sees the whole state for the first time;
//! - full: its first round, after one job ended and one was submitted: all jobs are considered;
//! - incremental: a round after one job ended and one was submitted, with events, decisions and
//!   judge;
//! - nothing: nothing happened, and nothing is due;
//! - fill: the first round of an empty cluster, with all starts that it makes.

use crate::cluster::Cluster;
use crate::policy::Rules;
use anyhow::ensure;
use common::time::Span;
use lead::Rounds;
use serde_json::{Value, json};
use state::Command;
use std::time::Duration;

/// GPUs in use, of 1000.
const FULL: u32 = 970;

/// Most rounds in which a synthetic cluster may settle.
const SETTLE_ROUNDS_MAX: u32 = 24;

/// Options of one row
#[derive(clap::Args)]
pub struct Args {
    /// The set of rules
    #[arg(long, value_enum)]
    rules: Rules,
    /// Number of nodes
    #[arg(long)]
    nodes: u32,
    /// Number of waiting jobs
    #[arg(long)]
    jobs: u32,
    /// Number of times that each round is repeated; the median counts
    #[arg(long)]
    repeat: usize,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let before = resident_bytes();
    let mut cluster = Cluster::new(args.rules, args.nodes, args.jobs, FULL)?;
    let settled_after = run_until_settled(&mut cluster)?;
    let memory = resident_bytes().saturating_sub(before);
    let nothing = time_idle_check(&mut cluster, args.repeat)?;
    let mut incremental = time_incremental_rounds(&mut cluster, args.repeat)?;
    let (mut takeover, mut full) = (Vec::new(), Vec::new());
    for _ in 0..args.repeat.min(5) {
        cluster.now = cluster.now + Span::from_seconds(1);
        cluster.end_one()?;
        cluster.submit()?;
        let began = cpu_time();
        cluster.rounds = Rounds::default();
        cluster.rounds.catch_up(&cluster.state, None, cluster.now);
        cluster.rounds.prepared_snapshot(cluster.now);
        takeover.push(cpu_time() - began);
        let began = cpu_time();
        let decided = cluster.round()?;
        full.push(cpu_time() - began);
        if let Some(command) = decided {
            cluster.enact(command)?;
        }
    }
    drop(cluster);
    let (fill, filled) = fill(args)?;
    println!(
        "{}",
        json!({
            "rules": args.rules.name(),
            "nodes": args.nodes,
            "waiting": args.jobs,
            "settled_after_rounds": settled_after,
            "takeover_ms": in_milliseconds(median_time(&mut takeover)),
            "full_ms": in_milliseconds(median_time(&mut full)),
            "incremental_ms": in_milliseconds(median_time(&mut incremental)),
            "incremental_worst_ms": incremental.last().copied().map(in_milliseconds),
            "nothing_us": nothing.map(|time| time.as_secs_f64() * 1e6),
            "fill_ms": in_milliseconds(fill),
            "fill_starts": filled,
            "starts_per_second": filled as f64 / fill.as_secs_f64(),
            "memory_mib": memory >> 20,
        })
    );
    Ok(())
}

/// Runs rounds until nothing more is decided, and returns their number. `None` if that is not
/// reached in [`SETTLE_ROUNDS_MAX`] rounds.
fn run_until_settled(cluster: &mut Cluster) -> anyhow::Result<Option<u32>> {
    cluster.rounds.catch_up(&cluster.state, None, cluster.now);
    for number in 1..=SETTLE_ROUNDS_MAX {
        let decided = cluster.round()?;
        let is_over = cluster.rounds.idle_for(cluster.now) != Some(Span(0));
        match decided {
            Some(command) => cluster.enact(command)?,
            None if is_over => return Ok(Some(number)),
            None => {}
        }
        cluster.catch_up();
    }
    Ok(None)
}

/// Time to find that no round is due; `None` if one is.
fn time_idle_check(cluster: &mut Cluster, repeat: usize) -> anyhow::Result<Option<Duration>> {
    let before = cluster.rounds.number();
    let mut times = Vec::new();
    for _ in 0..repeat * 100 {
        let began = cpu_time();
        cluster.catch_up();
        let decided = std::hint::black_box(cluster.round()?);
        times.push(cpu_time() - began);
        if decided.is_some() || cluster.rounds.number() != before {
            return Ok(None);
        }
    }
    Ok(Some(median_time(&mut times)))
}

/// Sorted times of rounds after one job ended and one was submitted.
fn time_incremental_rounds(cluster: &mut Cluster, repeat: usize) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..repeat {
        cluster.now = cluster.now + Span::from_seconds(1);
        cluster.end_one()?;
        cluster.submit()?;
        let began = cpu_time();
        cluster.catch_up();
        let decided = cluster.round()?;
        times.push(cpu_time() - began);
        if let Some(command) = decided {
            cluster.enact(command)?;
        }
        // The starts are new events too. They are processed here, outside the next measurement.
        cluster.catch_up();
    }
    Ok(times)
}

/// Time of the first round of an empty cluster, and number of its starts.
fn fill(args: &Args) -> anyhow::Result<(Duration, usize)> {
    let mut empty = Cluster::new(args.rules, args.nodes, args.jobs, 0)?;
    empty.rounds.catch_up(&empty.state, None, empty.now);
    let began = cpu_time();
    let decided = empty.round()?;
    let took = cpu_time() - began;
    let starts = match decided {
        Some(Command::EnactRound { starts, .. }) => starts.len(),
        _ => 0,
    };
    ensure!(starts > 0, "nothing starts in an empty cluster");
    Ok((took, starts))
}

fn in_milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median_time(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// CPU time of this process: a round is the work of one thread, and the machine may be busy
/// otherwise.
fn cpu_time() -> Duration {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID);
    now.map(Duration::from).unwrap_or_default()
}

/// The resident memory of this process, in bytes.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// Parses a row that another process printed.
pub fn read(text: &str) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(text.trim())?)
}
