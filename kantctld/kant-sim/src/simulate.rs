//! `kant-sim simulate`: evaluates policies on a recorded workload before they go into production.
//! This module reads and writes the files, draws random orders and shows progress; `sim` simulates.

mod choice;
mod draw;
mod error;
mod fill;
mod input;
mod progress;

pub use error::SimulateError;

use choice::Choice;
use clap::{Args, ValueEnum};
use sim::replay::{Plan, replay, replay_engine_alone};
use sim::report::{Outcome, RefusedJob, Summary};
use std::path::{Path, PathBuf};
use trace::Estimates;

/// Options of `simulate`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Policies by name:
  fifo          jobs start strictly in order
  befifo        any job that fits may start first (best-effort FIFO)
  easy          a later job may start if it does not delay the first waiting job (EASY)
  easy-pinned   the same, with the first job's reservation on fixed nodes
  conservative  a later job may start if it delays no job before it
  kant          the defaults of a queue without configuration
  kant-expected the same, with backfill by expected run times
A policy file is like kantctld.toml; all keys are optional. Each job goes to the queue named after
its group, or to the default queue, and is charged to the account of that name.
Submissions, rounds and ends go through the same state as in a cluster, so limits, fair share and
preemption behave as they would there. Jobs that the policy rejects are listed and left out. Access
rules of queues, QoS and accounts are ignored, because the users of a trace are not users here.")]
pub struct Arguments {
    /// The jobs, as CSV (columns: tests/traces/README.md) or in the Standard Workload Format
    /// (.swf); both may be compressed (.gz)
    #[arg(long, value_name = "FILE")]
    jobs: PathBuf,
    /// The nodes, as CSV; may be compressed
    #[arg(long, value_name = "FILE")]
    nodes: PathBuf,
    /// A policy by name, or a file like kantctld.toml [default: kant]
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "compare")]
    policy: Option<String>,
    /// Several policies, by name or file, to compare side by side
    #[arg(long, value_name = "NAME|FILE", num_args = 1..)]
    compare: Vec<String>,
    /// The placement policy for all queues [default: as in the policy; fgd with --fill]
    #[arg(long, value_enum)]
    placement: Option<PlacementName>,
    /// What the scheduler knows about run times: the requested walltime (twice the run time, if
    /// none was requested), or the exact run time
    #[arg(long, value_enum, default_value = "request")]
    estimates: EstimatesName,
    /// Divide submit times by this: with 1.2 the same jobs arrive in 1/1.2 of the time, a load 1.2
    /// times as high
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    submit_scale: f64,
    /// The first seed of --fill; without --fill nothing is random, and the seed is only reported
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write the metrics to this file; as a list for several policies or with --fill
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write start, end and nodes of every job to this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["compare", "fill"])]
    jobs_out: Option<PathBuf>,
    /// Write an HTML report with plots to this file
    #[arg(long, value_name = "FILE", conflicts_with = "fill")]
    report: Option<PathBuf>,
    /// Simulate the engine without the state: about twice as fast, with the same starts unless the
    /// order depends on fair share (no use is counted) or the policy rejects jobs (none are)
    #[arg(long, conflicts_with = "fill")]
    engine_alone: bool,
    /// Fill the empty cluster with jobs of the trace in random order, none of which ends, and
    /// report the fraction of GPUs allocated
    #[arg(long)]
    fill: bool,
    /// With --fill: jobs arrive until they ask for this multiple of all GPUs
    #[arg(long, value_name = "X", default_value_t = 1.3, requires = "fill")]
    arrivals: f64,
    /// With --fill: the number of random orders
    #[arg(long, value_name = "N", default_value_t = 10, requires = "fill")]
    seeds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlacementName {
    First,
    Binpack,
    Ebinpack,
    Spread,
    Espread,
    Fgd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EstimatesName {
    Request,
    Exact,
}

/// The meaning of the columns; on standard error, so that standard output is only the table.
const LEGEND: &str = "
GAR: GPUs allocated, mean over time; GARq: while jobs wait. SOR: GPU-time used of all there is
GFR, GFRq: nodes with some but not all GPUs allocated. FR8: free GPUs that no 8-GPU job can use
slowdown: from submit to end by run time, runs under 10 s as 10 s (docs/operating/metrics.md)
";

/// Simulates, writes the requested files, and prints the metrics.
///
/// # Errors
/// [`SimulateError`], for files that cannot be read, written or simulated.
pub fn run(arguments: &Arguments) -> Result<(), SimulateError> {
    let input = input::read(arguments)?;
    let choices = choice::choices(arguments, &input)?;
    if arguments.fill {
        return fill::run(arguments, &input, &choices);
    }
    // Checked first, so that a long run does not fail at its end.
    let files = [&arguments.json, &arguments.jobs_out, &arguments.report];
    files.into_iter().flatten().try_for_each(|file| check_writable(file))?;
    let mut outcomes = Vec::with_capacity(choices.len());
    for choice in &choices {
        let outcome = replayed(arguments, &input, choice)?;
        report_left_out(&outcome);
        if outcome.jobs.is_empty() && !input.jobs.is_empty() {
            return Err(SimulateError::AllLeftOut { policy: outcome.policy });
        }
        outcomes.push(outcome);
    }
    let summaries: Vec<Summary> = outcomes.iter().map(Summary::of).collect();
    print!("{}", sim::report::table(&summaries));
    eprint!("{LEGEND}");
    if let Some(file) = &arguments.json {
        let texts: Vec<String> = summaries.iter().map(Summary::to_json).collect();
        let text = match texts.as_slice() {
            [one] => one.clone(),
            several => format!("[\n{}]\n", several.join(",\n")),
        };
        write(file, &text)?;
    }
    if let (Some(file), Some(outcome)) = (&arguments.jobs_out, outcomes.first()) {
        write(file, &sim::report::jobs_csv(outcome))?;
    }
    if let Some(file) = &arguments.report {
        write(file, &sim::report::html(&outcomes))?;
    }
    Ok(())
}

fn replayed(
    arguments: &Arguments,
    input: &input::Input,
    choice: &Choice,
) -> Result<Outcome, SimulateError> {
    let plan = Plan {
        trace: &input.name,
        jobs: &input.jobs,
        nodes: &input.nodes,
        name: &choice.name,
        policy: &choice.policy,
        estimates: match arguments.estimates {
            EstimatesName::Request => Estimates::Request,
            EstimatesName::Exact => Estimates::Exact,
        },
        seed: arguments.seed,
    };
    let mut bar = progress::ReplayBar::new(&choice.name, input.jobs.len());
    let replay = if arguments.engine_alone { replay_engine_alone } else { replay };
    let outcome = replay(&plan, &mut bar)?;
    bar.clear();
    Ok(outcome)
}

/// Reports the jobs left out of the metrics: those that do not fit the empty cluster, and those
/// that the policy rejects.
fn report_left_out(outcome: &Outcome) {
    let Outcome { policy, never_fit, refused, jobs, .. } = outcome;
    let all = jobs.len() + never_fit.len() + refused.len();
    if !never_fit.is_empty() {
        eprintln!(
            "{policy}: {} of {all} jobs ask for more than the nodes have when empty and are left \
             out: {}",
            never_fit.len(),
            format_first(never_fit.iter().copied())
        );
    }
    // The reason is about one job; the first one stands for the rest.
    if let Some(RefusedJob { id, why }) = refused.first() {
        let numbers = refused.iter().map(|job| job.id);
        eprintln!(
            "{policy}: {} of {all} jobs are rejected by the policy and are left out: {}; job {id}: \
             {why}",
            refused.len(),
            format_first(numbers)
        );
    }
}

/// The first of these numbers, for example `1, 2, 3, 4, 5, ...`.
fn format_first(numbers: impl ExactSizeIterator<Item = u64>) -> String {
    const SHOWN: usize = 5;
    let more = if numbers.len() > SHOWN { ", ..." } else { "" };
    let few: Vec<String> = numbers.take(SHOWN).map(|number| number.to_string()).collect();
    format!("{}{more}", few.join(", "))
}

/// Checks that a file can be written, without changing its content.
fn check_writable(file: &Path) -> Result<(), SimulateError> {
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
    opened
        .map(drop)
        .map_err(|source| SimulateError::Write { file: file.display().to_string(), source })
}

fn write(file: &Path, text: &str) -> Result<(), SimulateError> {
    std::fs::write(file, text)
        .map_err(|source| SimulateError::Write { file: file.display().to_string(), source })
}

#[cfg(test)]
mod tests;
