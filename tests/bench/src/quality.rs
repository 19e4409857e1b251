//! The benchmark of policies: public traces are replayed under each policy and measured by Kant's
//! five metrics. It prints the tables of docs/quality.md.

use crate::traces::{TRACES, Trace};
use anyhow::Context;
use common::policy::{Candidates, Placement, Policy};
use sim::replay::{Named, Plan, Unwatched, replay};
use sim::report::{Summary, Waits, jobs_csv};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use trace::Estimates;

/// Options of the benchmark of policies
#[derive(clap::Args)]
pub struct Args {
    /// The directory with the traces (NAME.jobs.csv.gz and their node files)
    #[arg(long)]
    traces: PathBuf,
    /// Replay only these traces
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Replay only these policies, without ablations
    #[arg(long, value_delimiter = ',')]
    policies: Vec<String>,
    /// Write when and where each job started into this directory, to compare two builds
    #[arg(long)]
    starts: Option<PathBuf>,
    /// Number of replays that run in parallel
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

struct Run {
    trace: &'static Trace,
    name: String,
    policy: Policy,
}

/// The policies under which every trace is replayed.
fn runs_of_all_policies(trace: &'static Trace) -> Vec<Run> {
    let run = |named: Named| Run { trace, name: named.name().to_owned(), policy: named.policy() };
    let fits = |named: &Named| match named {
        Named::EasyPinned => false,
        Named::Conservative => !trace.is_long,
        Named::KantExpected => trace.has_users,
        Named::Fifo | Named::Befifo | Named::Easy | Named::Kant => true,
    };
    Named::ALL.into_iter().filter(fits).map(run).collect()
}

/// Policies that differ by one step each, from those of other systems to kant's defaults.
fn runs_of_one_step_each(trace: &'static Trace) -> Vec<Run> {
    let with = |name: &str, named: Named, placement: Placement| {
        let mut policy = named.policy();
        policy.queues.iter_mut().for_each(|queue| queue.placement = placement);
        Run { trace, name: name.to_owned(), policy }
    };
    let mut shortest_first = with("+ shortest first behind", Named::Kant, Placement::EBinpack);
    for queue in &mut shortest_first.policy.queues {
        queue.backfill.candidates = Candidates::ShortestFirst;
    }
    vec![
        with("strict FIFO, spread", Named::Fifo, Placement::Spread),
        with("strict FIFO, first fit", Named::Fifo, Placement::First),
        with("+ backfill (EASY), first fit", Named::Easy, Placement::First),
        with("+ binpack", Named::Easy, Placement::Binpack),
        with("+ E-Binpack", Named::Easy, Placement::EBinpack),
        with("EASY, spread", Named::Easy, Placement::Spread),
        shortest_first,
        with("+ relative wait behind (kant's default)", Named::Kant, Placement::EBinpack),
    ]
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let chosen = |trace: &&Trace| args.only.is_empty() || args.only.iter().any(|n| n == trace.name);
    let traces: Vec<&'static Trace> = TRACES.iter().filter(chosen).collect();
    let mut text = String::new();
    let wanted = |run: &Run| args.policies.is_empty() || args.policies.contains(&run.name);
    let plan: Vec<Run> =
        traces.iter().copied().flat_map(runs_of_all_policies).filter(wanted).collect();
    let by_policy = replay_all(args, &plan)?;
    for trace in &traces {
        let rows = by_policy.iter().filter(|(run, _)| run.trace.name == trace.name);
        writeln!(text, "### {}\n\n{}\n", trace.name, trace.about)?;
        write_table(&mut text, rows)?;
    }
    let ablated = traces.iter().filter(|t| t.is_ablated && args.policies.is_empty());
    let plan: Vec<Run> = ablated.copied().flat_map(runs_of_one_step_each).collect();
    let by_step = replay_all(args, &plan)?;
    for trace in traces.iter().filter(|trace| trace.is_ablated && args.policies.is_empty()) {
        let rows = by_step.iter().filter(|(run, _)| run.trace.name == trace.name);
        writeln!(text, "### One difference at a time: {}\n", trace.name)?;
        write_table(&mut text, rows)?;
    }
    print!("{text}");
    Ok(())
}

/// Replays all runs, several in parallel. The results are in the order of the plan.
fn replay_all<'r>(args: &Args, plan: &'r [Run]) -> anyhow::Result<Vec<(&'r Run, Summary)>> {
    let bar = indicatif::ProgressBar::new(plan.len() as u64);
    bar.set_style(indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?);
    let next = Mutex::new(0);
    let found: Mutex<Vec<(usize, anyhow::Result<Summary>)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let number = {
                let Ok(mut next) = next.lock() else { return };
                *next += 1;
                *next - 1
            };
            let Some(run) = plan.get(number) else { return };
            bar.set_message(format!("{} {}", run.trace.name, run.name));
            let summary = replay_run(args, run);
            bar.inc(1);
            if let Ok(mut found) = found.lock() {
                found.push((number, summary));
            }
        }
    };
    std::thread::scope(|scope| {
        (0..args.threads.max(1)).for_each(|_| {
            scope.spawn(work);
        });
    });
    bar.finish_and_clear();
    let mut found = found.into_inner().map_err(|_| anyhow::anyhow!("a replay panicked"))?;
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(number, summary)| Ok((&plan[number], summary?))).collect()
}

fn replay_run(args: &Args, run: &Run) -> anyhow::Result<Summary> {
    let (jobs, nodes) = run.trace.read(&args.traces)?;
    let plan = Plan {
        trace: run.trace.name,
        jobs: &jobs,
        nodes: &nodes,
        name: &run.name,
        policy: &run.policy,
        estimates: Estimates::Request,
        seed: 0,
    };
    let outcome = replay(&plan, &mut Unwatched)
        .with_context(|| format!("failed to replay {} under {}", run.trace.name, run.name))?;
    if let Some(folder) = &args.starts {
        let path = folder.join(format!("{}.{}.csv", run.trace.name, run.name.replace(' ', "-")));
        std::fs::write(&path, jobs_csv(&outcome))
            .with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(Summary::of(&outcome))
}

fn write_table<'r>(
    text: &mut String,
    rows: impl Iterator<Item = &'r (&'r Run, Summary)>,
) -> std::fmt::Result {
    writeln!(
        text,
        "| policy | GAR queued % | SOR % | GFR % | GFR queued % | FR8 % | wait mean h | \
         P50 / P90 / P99 h | largest bucket P90 h | bounded slowdown | makespan h | preempted |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    )?;
    for (run, summary) in rows {
        let largest = summary.wait_by_size.iter().rev().find(|(_, waits)| waits.jobs > 0);
        let largest = largest.map_or("-".to_owned(), |(size, waits)| {
            format!("{} ({})", show_hours(waits.p90), size.name())
        });
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {largest} | {} | {} | {} |",
            run.name,
            show_percent(summary.gar_queued_mean),
            show_percent(summary.sor),
            show_percent(summary.gfr_mean),
            show_percent(summary.gfr_queued_mean),
            show_percent(summary.fr8_mean),
            show_hours(summary.wait.mean),
            show_quantiles(&summary.wait),
            show_number(summary.bounded_slowdown_mean, 3),
            show_hours(summary.makespan_seconds),
            summary.preemptions,
        )?;
    }
    writeln!(text)
}

fn show_quantiles(waits: &Waits) -> String {
    format!("{} / {} / {}", show_hours(waits.p50), show_hours(waits.p90), show_hours(waits.p99))
}

fn show_number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

fn show_percent(value: Option<f64>) -> String {
    show_number(value.map(|value| value * 100.0), 1)
}

fn show_hours(value: Option<f64>) -> String {
    show_number(value.map(|seconds| seconds / 3600.0), 2)
}
