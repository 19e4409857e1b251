//! The benchmark of growth: what a controller costs as waiting jobs, running jobs, nodes, clients
//! or finished jobs increase. Each curve has its own controller with emulated nodes, which makes
//! everything durable. It prints points of curves and sets no limits.

mod curves;

use crate::raft::by_each;
use crate::scale::batch::{self, Kind};
use crate::scale::cluster::TestCluster;
use crate::scale::per_second;
use curves::Curves;
use indicatif::ProgressBar;
use std::time::{Duration, Instant};

/// Options of the benchmark of growth
#[derive(clap::Args)]
pub struct Args {
    /// Numbers of waiting jobs, rising; one user may have 100,000
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 99_000])]
    waiting: Vec<usize>,
    /// Numbers of running jobs, rising
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 50_000])]
    running: Vec<usize>,
    /// Numbers of nodes
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1_000, 10_000])]
    nodes: Vec<u32>,
    /// Numbers of concurrent clients
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64, 512])]
    clients: Vec<usize>,
    /// Numbers of finished jobs, rising
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    over: Vec<usize>,
    /// Measure only these curves
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Of>,
}

/// What increases along a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Of {
    Waiting,
    Running,
    Nodes,
    Clients,
    Over,
}

/// Number of submissions from which the median is taken.
const SUBMITS: usize = 30;
/// Number of nodes, of 224 CPUs each, on the curves of running and finished jobs.
const NODES: u32 = 500;
/// Number of submissions of each client.
const EACH: usize = 40;
/// How long an idle cluster is observed.
const IDLE: Duration = Duration::from_secs(5);

/// Measures everything. The daemons are built in the same way as this program.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let all = [Of::Waiting, Of::Running, Of::Nodes, Of::Clients, Of::Over];
    let chosen = all.into_iter().filter(|of| args.only.is_empty() || args.only.contains(of));
    let chosen: Vec<Of> = chosen.collect();
    let bar = ProgressBar::new(chosen.len() as u64);
    bar.enable_steady_tick(Duration::from_secs(1));
    let mut curves = Curves::default();
    for of in chosen {
        bar.set_message(format!("{of:?}"));
        match of {
            Of::Waiting => grow_waiting_jobs(&args.waiting, &mut curves)?,
            Of::Running => grow_running_jobs(&args.running, &mut curves)?,
            Of::Nodes => grow_nodes(&args.nodes, &mut curves)?,
            Of::Clients => grow_clients(&args.clients, &mut curves)?,
            Of::Over => grow_finished_jobs(&args.over, &mut curves)?,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!("{:#}", curves.to_json());
    Ok(())
}

fn median(mut samples: Vec<Duration>) -> f64 {
    samples.sort_unstable();
    samples.get(samples.len() / 2).map_or(0.0, |median| median.as_secs_f64() * 1000.0)
}

fn median_of_runs(
    count: usize,
    once: impl Fn() -> anyhow::Result<Duration>,
) -> anyhow::Result<f64> {
    Ok(median((0..count).map(|_| once()).collect::<anyhow::Result<_>>()?))
}

fn grow_waiting_jobs(counts: &[usize], curves: &mut Curves) -> anyhow::Result<()> {
    let cluster = TestCluster::start(1)?;
    let mut there = 0;
    for count in counts {
        let more = batch::named(Kind::Held, count - there, &format!("held-{count}"));
        let begin = Instant::now();
        cluster.submit(&more)?;
        let rate = per_second(count - there, begin.elapsed());
        there = *count;
        let mut add = |what, unit, y| curves.add("waiting jobs", *count, what, unit, y);
        add("memory", "MiB", cluster.controller_mib()?);
        add("submits in batches", "jobs/s", rate);
        add("submit of one job", "ms", median_of_runs(SUBMITS, || cluster.submit_held())?);
        add("list, as tables show it", "ms", median_of_runs(3, || cluster.list(true))?);
    }
    Ok(())
}

fn grow_running_jobs(counts: &[usize], curves: &mut Curves) -> anyhow::Result<()> {
    let cluster = TestCluster::start(NODES)?;
    let mut there = 0;
    for count in counts {
        let more = batch::named(Kind::Cpu, count - there, &format!("run-{count}"));
        let begin = Instant::now();
        cluster.submit(&more)?;
        cluster.until_running(*count)?;
        let rate = per_second(count - there, begin.elapsed());
        there = *count;
        let mut add = |what, unit, y| curves.add("running jobs", *count, what, unit, y);
        add("memory", "MiB", cluster.controller_mib()?);
        add("starts, submits included", "jobs/s", rate);
        add("submit until it runs", "ms", median_of_runs(SUBMITS, || cluster.start_one())?);
        add("CPU of the controller, idle", "% of a core", measure_idle_cpu(&cluster)?);
    }
    Ok(())
}

fn grow_nodes(counts: &[u32], curves: &mut Curves) -> anyhow::Result<()> {
    for count in counts {
        let begin = Instant::now();
        let cluster = TestCluster::start(*count)?;
        let joined = begin.elapsed().as_secs_f64();
        let mut add = |what, unit, y| curves.add("nodes", *count as usize, what, unit, y);
        add("all join", "s", joined);
        add("memory", "MiB", cluster.controller_mib()?);
        add("submit until it runs", "ms", median_of_runs(SUBMITS, || cluster.start_one())?);
        add("CPU of the controller, idle", "% of a core", measure_idle_cpu(&cluster)?);
    }
    Ok(())
}

fn grow_clients(counts: &[usize], curves: &mut Curves) -> anyhow::Result<()> {
    let cluster = TestCluster::start(1)?;
    for count in counts {
        let apart = (0..*count).map(|_| cluster.another()).collect::<anyhow::Result<Vec<_>>>()?;
        let begin = Instant::now();
        let longest = by_each(apart, |mut client| client.submit_held(EACH))?;
        let took = begin.elapsed();
        let longest = longest.into_iter().max().unwrap_or_default();
        let mut add = |what, unit, y| curves.add("clients", *count, what, unit, y);
        add("submits", "jobs/s", per_second(count * EACH, took));
        add("longest wait of one", "ms", longest.as_secs_f64() * 1000.0);
        add("memory", "MiB", cluster.controller_mib()?);
    }
    Ok(())
}

fn grow_finished_jobs(counts: &[usize], curves: &mut Curves) -> anyhow::Result<()> {
    let cluster = TestCluster::start(NODES)?;
    let mut there = 0;
    for count in counts {
        let more = batch::named(Kind::Instant, count - there, &format!("over-{count}"));
        let (took, _) = cluster.through(&more)?;
        let rate = per_second(count - there, took);
        there = *count;
        let mut add = |what, unit, y| curves.add("jobs that are over", *count, what, unit, y);
        add("memory", "MiB", cluster.controller_mib()?);
        add("jobs through", "jobs/s", rate);
        add("submit until it runs", "ms", median_of_runs(SUBMITS, || cluster.start_one())?);
        add("a user's last 100 jobs", "ms", median_of_runs(3, || cluster.history())?);
    }
    Ok(())
}

fn measure_idle_cpu(cluster: &TestCluster) -> anyhow::Result<f64> {
    let (before, began) = (cluster.cpu()?, Instant::now());
    std::thread::sleep(IDLE);
    Ok((cluster.cpu()?.0 - before.0) * 100.0 / began.elapsed().as_secs_f64())
}
