//! One row of the table of rounds, in a process of its own, so that its memory is its own. Never
//! prints anything but the row.
//!
//! - takeover: a new leader looks at the whole state for the first time;
//! - full: its first round, after one job ended and one came: everybody is considered anew;
//! - incremental: one job ended and one came since the last round; told, decided, judged;
//! - nothing: nothing happened, and nothing is due;
//! - fill: an empty cluster, as many starts as the first round makes.

use crate::cluster::Cluster;
use crate::policy::Rules;
use anyhow::ensure;
use common::time::Span;
use lead::Rounds;
use serde_json::{Value, json};
use state::Command;
use std::time::Duration;

/// GPUs in use, of a thousand.
const FULL: u32 = 970;

/// So many rounds are given to a made-up cluster to settle.
const SETTLE_ROUNDS_MAX: u32 = 24;

/// What to measure
#[derive(clap::Args)]
pub struct Args {
    /// The rules
    #[arg(long, value_enum)]
    rules: Rules,
    /// Nodes
    #[arg(long)]
    nodes: u32,
    /// Waiting jobs
    #[arg(long)]
    jobs: u32,
    /// How often each round is repeated; the median counts
    #[arg(long)]
    repeat: usize,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let before = resident_bytes();
    let mut cluster = Cluster::new(args.rules, args.nodes, args.jobs, FULL)?;
    let settled_after = settle(&mut cluster)?;
    let memory = resident_bytes().saturating_sub(before);
    let nothing = nothing(&mut cluster, args.repeat)?;
    let mut incremental = incremental(&mut cluster, args.repeat)?;
    let (mut takeover, mut full) = (Vec::new(), Vec::new());
    for _ in 0..args.repeat.min(5) {
        cluster.now = cluster.now + Span::from_seconds(1);
        cluster.end_one()?;
        cluster.submit()?;
        let began = cpu_time();
        cluster.rounds = Rounds::default();
        cluster.rounds.catch_up(&cluster.state, None, cluster.now);
        cluster.rounds.settled_snapshot(cluster.now);
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
            "takeover_ms": ms(middle(&mut takeover)),
            "full_ms": ms(middle(&mut full)),
            "incremental_ms": ms(middle(&mut incremental)),
            "incremental_worst_ms": incremental.last().copied().map(ms),
            "nothing_us": nothing.map(|time| time.as_secs_f64() * 1e6),
            "fill_ms": ms(fill),
            "fill_starts": filled,
            "starts_per_second": filled as f64 / fill.as_secs_f64(),
            "memory_mib": memory >> 20,
        })
    );
    Ok(())
}

/// Rounds until nothing more is decided: what can start has started. `None`: not in so many.
fn settle(cluster: &mut Cluster) -> anyhow::Result<Option<u32>> {
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

/// What it costs to find that no round is due; `None` where one is.
fn nothing(cluster: &mut Cluster, repeat: usize) -> anyhow::Result<Option<Duration>> {
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
    Ok(Some(middle(&mut times)))
}

/// Sorted times of rounds after one job ended and one came.
fn incremental(cluster: &mut Cluster, repeat: usize) -> anyhow::Result<Vec<Duration>> {
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
        // The starts themselves are news, which the next measurement does not pay for.
        cluster.catch_up();
    }
    Ok(times)
}

/// How long the first round of an empty cluster takes, and how many it starts.
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

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn middle(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// CPU time of this process: a round is one thread's work, and the machine may have other things to
/// do.
fn cpu_time() -> Duration {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID);
    now.map(Duration::from).unwrap_or_default()
}

/// What this process has in memory.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// Reads a row that another process printed.
pub fn read(text: &str) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(text.trim())?)
}
