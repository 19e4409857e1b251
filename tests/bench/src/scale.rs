//! The benchmark of scale: a real controller with thousands of emulated nodes. It measures joining,
//! filling, jobs that end at once, the waits of clients meanwhile, CPU and memory. Everything is
//! durable. It prints samples and sets no limits.

pub mod batch;
pub mod cluster;

use crate::figures::Figures;
use anyhow::ensure;
use batch::Kind;
use cluster::TestCluster;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// Options of the benchmark of scale
#[derive(clap::Args)]
pub struct Args {
    /// Number of times that each size is measured, each with a new cluster
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Numbers of nodes, of 8 GPUs each
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1000])]
    nodes: Vec<u32>,
    /// Number of jobs for each size
    #[arg(long, default_value_t = 10_000)]
    jobs: usize,
}

/// How long an idle cluster is observed.
const IDLE: Duration = Duration::from_secs(10);
/// Number of single jobs started on an idle cluster.
const STARTS: usize = 30;
/// Number of times that all jobs are listed.
const LISTS: usize = 5;

/// Measures everything. The daemons are built in the same way as this program.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let bar = ProgressBar::new((args.rounds * args.nodes.len() * 5) as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}")?);
    bar.enable_steady_tick(Duration::from_secs(1));
    bar.set_message("building the daemons");
    // Built before the first cluster starts, because the time until its nodes join is measured.
    e2e::Binaries::build(e2e::Build::Quiet)?;
    let mut figures = Figures::default();
    for _ in 0..args.rounds {
        for nodes in &args.nodes {
            measure(*nodes, args.jobs, &mut figures, |name| {
                bar.inc(1);
                bar.set_message(format!("{nodes} nodes: {name}"));
            })?;
        }
    }
    bar.finish_and_clear();
    println!("{:#}", figures.to_json());
    Ok(())
}

fn measure(
    nodes: u32,
    jobs: usize,
    figures: &mut Figures,
    step: impl Fn(&'static str),
) -> anyhow::Result<()> {
    step("joining");
    let begin = Instant::now();
    let cluster = TestCluster::start(nodes)?;
    let of = |what: &str| format!("{what}, {nodes} nodes");
    figures.time(&of("all nodes join"), begin.elapsed());
    figures.add(&of("kantctld RSS, idle"), "MiB", cluster.controller_mib()?);

    step("idle");
    let (before, began) = (cluster.cpu()?, Instant::now());
    std::thread::sleep(IDLE);
    let ((ctl, emu), span) = (cluster.cpu()?, began.elapsed().as_secs_f64());
    figures.add(&of("kantctld CPU, idle"), "% of a core", (ctl - before.0) * 100.0 / span);
    figures.add(&of("all nodes' CPU, idle"), "% of a core", (emu - before.1) * 100.0 / span);
    for _ in 0..STARTS {
        figures.time(&of("submit until it runs, idle"), cluster.start_one()?);
    }

    step("jobs that are over at once");
    let (took, accepted) = cluster.through(&batch::of(Kind::Instant, jobs))?;
    figures.add(&of("batch submit"), "jobs/s", per_second(jobs, accepted));
    figures.add(&of("zero-length jobs, submit to end of all"), "jobs/s", per_second(jobs, took));

    step("filling");
    let probe = cluster.probe();
    let filled = cluster.fill(&batch::of(Kind::Mixed, jobs))?;
    let worst = probe.stop()?;
    figures.add(&of("fill by mixed jobs"), "starts/s", per_second(filled.started, filled.took));
    figures.add(&of("GPUs in use when full"), "%", filled.percent);
    figures.time(&of("longest wait of a client meanwhile"), worst);

    step("many wait");
    let waiting = cluster.status()?.jobs_pending;
    ensure!(waiting > 0, "the cluster is not full: give more --jobs");
    figures.add(&of("jobs that wait when full"), "jobs", f64::from(waiting));
    figures.add(&of("kantctld RSS, full"), "MiB", cluster.controller_mib()?);
    for _ in 0..LISTS {
        figures.time(&of("list all jobs that are not over"), cluster.list(false)?);
        figures.time(&of("list them as tables show them"), cluster.list(true)?);
    }
    Ok(())
}

pub fn per_second(count: usize, took: Duration) -> f64 {
    #[allow(clippy::cast_precision_loss)] // a count of jobs
    let count = count as f64;
    count / took.as_secs_f64()
}
