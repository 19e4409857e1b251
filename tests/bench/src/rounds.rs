//! How much CPU time rounds take, and how that grows with nodes and waiting jobs.
//!
//! - full: nearly all GPUs in use, everybody is considered anew;
//! - incremental: one job ended and one came since the last round;
//! - nothing: nothing changed, and the round before said that none is due;
//! - fill: an empty cluster, as many starts as a round makes.

use crate::cluster::{Cluster, NOW};
use engine::{Decision, Round, schedule};
use serde_json::json;
use std::time::Duration;

/// What to measure
#[derive(clap::Args)]
pub struct Args {
    /// Numbers of nodes
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    nodes: Vec<u32>,
    /// Numbers of waiting jobs
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    jobs: Vec<u32>,
    /// How often each round is repeated; the median counts
    #[arg(long, default_value_t = 9)]
    repeat: usize,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for nodes in &args.nodes {
        for jobs in &args.jobs {
            let row = measure(*nodes, *jobs, args.repeat);
            eprintln!("{row}");
            rows.push(row);
        }
    }
    println!("{:#}", json!(rows));
    Ok(())
}

fn measure(nodes: u32, jobs: u32, repeat: usize) -> serde_json::Value {
    let before = resident_bytes();
    let mut cluster = Cluster::new(nodes, jobs, 970);
    cluster.snapshot.settle(NOW);
    // What can start, starts, as it would in a living cluster.
    let mut round = Round::default();
    for _ in 0..20 {
        round = schedule(&cluster.snapshot, NOW);
        if starts(&round) == 0 {
            break;
        }
        apply(&mut cluster, &round);
    }
    let resident = resident_bytes().saturating_sub(before);
    cluster.snapshot.set_promises(round.promises.clone());
    cluster.snapshot.set_halfway(round.halfway.clone());
    let full = median(repeat, || {
        std::hint::black_box(schedule(&cluster.snapshot, NOW));
    });
    let next_look = round.next_look;
    let nothing = median(repeat * 100, || {
        std::hint::black_box(next_look.is_some_and(|at| at <= NOW));
    });
    let mut times = Vec::new();
    for _ in 0..repeat {
        cluster.end_one();
        cluster.submit();
        let began = cpu_time();
        cluster.snapshot.settle(NOW);
        let round = schedule(&cluster.snapshot, NOW);
        times.push(cpu_time() - began);
        apply(&mut cluster, &round);
    }
    let incremental = middle(times);
    let mut empty = Cluster::new(nodes, jobs, 0);
    empty.snapshot.settle(NOW);
    let began = cpu_time();
    let filled = schedule(&empty.snapshot, NOW);
    let fill = cpu_time() - began;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    json!({
        "nodes": nodes,
        "waiting": jobs,
        "full_ms": ms(full),
        "incremental_ms": ms(incremental),
        "nothing_us": nothing.as_secs_f64() * 1e6,
        "fill_ms": ms(fill),
        "fill_starts": starts(&filled),
        "starts_per_second": starts(&filled) as f64 / fill.as_secs_f64(),
        "memory_mib": resident >> 20,
    })
}

fn starts(round: &Round) -> usize {
    round.decisions.iter().filter(|d| matches!(d, Decision::Start { .. })).count()
}

fn apply(cluster: &mut Cluster, round: &Round) {
    for decision in &round.decisions {
        if let Decision::Start { key, allocation, .. } = decision {
            cluster.snapshot.start(*key, allocation.clone(), NOW);
        }
    }
    cluster.snapshot.set_promises(round.promises.clone());
    cluster.snapshot.set_halfway(round.halfway.clone());
    cluster.snapshot.settle(NOW);
}

fn median(repeat: usize, mut what: impl FnMut()) -> Duration {
    let times = (0..repeat.max(1)).map(|_| {
        let began = cpu_time();
        what();
        cpu_time() - began
    });
    middle(times.collect())
}

fn middle(mut times: Vec<Duration>) -> Duration {
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
