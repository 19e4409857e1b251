//! `kantctld simulate`: tries policies on a recorded workload before they are turned on. Reads and
//! writes the files, draws what must be drawn, shows how far it is; `sim` does the rest. Never
//! touches a cluster.

mod choice;
mod draw;
mod error;
mod filling;
mod input;
mod watch;

pub use error::SimulateError;

use choice::Choice;
use clap::{Args, ValueEnum};
use sim::replay::{Plan, replay, replay_engine_alone};
use sim::report::{Outcome, RefusedJob, Summary};
use sim::trace::Estimates;
use std::path::{Path, PathBuf};

/// Options of `simulate`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Policies by name:
  fifo          nobody passes a job without room
  befifo        whoever fits passes
  easy          whoever fits passes, if that does not delay the first job without room (EASY)
  easy-pinned   the same, its reservation on certain nodes
  conservative  whoever fits passes, if that delays nobody before it
  kant          what a queue does whose configuration says nothing
A file is one like kantctld.toml, with as few keys as you like; a job goes to the queue called like
its group, else to the default queue, and is charged to the account called so.
Each submission, round and end goes through the same state as in a cluster, so limits, fair share
and what makes jobs yield do as they would there; a job that the policy would refuse is left out,
and told. Who may use a queue, QoS or account plays no part: users of a trace are none of yours.")]
pub struct Arguments {
    /// The jobs, as CSV (what columns mean: tests/traces/README.md) or in the Standard Workload
    /// Format (.swf); both may be compressed (.gz)
    #[arg(long, value_name = "FILE")]
    jobs: PathBuf,
    /// The nodes, as CSV; may be compressed
    #[arg(long, value_name = "FILE")]
    nodes: PathBuf,
    /// A policy by name, or a file like kantctld.toml [default: kant]
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "compare")]
    policy: Option<String>,
    /// Several policies, by name or file, side by side
    #[arg(long, value_name = "NAME|FILE", num_args = 1..)]
    compare: Vec<String>,
    /// Which nodes jobs get, in all queues [default: what the policy says; fgd with --fill]
    #[arg(long, value_enum)]
    placement: Option<PlacementName>,
    /// What the scheduler knows of how long jobs run: the walltime they asked for (twice their run
    /// time, where they did not), or their run time
    #[arg(long, value_enum, default_value = "request")]
    estimates: EstimatesName,
    /// Submit times are divided by this: with 1.2 the same jobs come in 1/1.2 of the time, a load
    /// 1.2 times as high
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    submit_scale: f64,
    /// The first seed of --fill; without --fill nothing is drawn, and it is only reported
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Writes the metrics here; of several policies or with --fill as a list
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes start, end and nodes of every job here
    #[arg(long, value_name = "FILE", conflicts_with_all = ["compare", "fill"])]
    jobs_out: Option<PathBuf>,
    /// Writes a page with plots here
    #[arg(long, value_name = "FILE", conflicts_with = "fill")]
    report: Option<PathBuf>,
    /// Without the state: about twice as fast, and the same starts unless the order goes by fair
    /// share (nobody's use is counted) or the policy refuses a job (here none is)
    #[arg(long, conflicts_with = "fill")]
    engine_alone: bool,
    /// Fills the empty cluster with jobs of the trace in random order, none of which ever ends, and
    /// tells how much of the GPUs is given away
    #[arg(long)]
    fill: bool,
    /// With --fill: jobs arrive until they ask for so many times the GPUs there are
    #[arg(long, value_name = "X", default_value_t = 1.3, requires = "fill")]
    arrivals: f64,
    /// With --fill: so many random orders
    #[arg(long, value_name = "N", default_value_t = 10, requires = "fill")]
    seeds: u32,
}

/// Placements as options name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlacementName {
    First,
    Binpack,
    Ebinpack,
    Spread,
    Espread,
    Fgd,
}

/// What is known of run times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EstimatesName {
    Request,
    Exact,
}

/// What the columns mean; on standard error, so that standard output is the table alone.
const LEGEND: &str = "
GAR: GPUs given away, mean over time; GARq: while somebody waits. SOR: GPU-time used of all there is
GFR, GFRq: nodes with some but not all GPUs given away. FR8: free GPUs that no 8-GPU job can have
slowdown: from submit to end by run time, runs under 10 s as 10 s (docs/operating/metrics.md)
";

/// Simulates, writes what was asked for, and prints the metrics.
///
/// # Errors
/// [`SimulateError`], for what cannot be read, written or replayed.
pub fn run(arguments: &Arguments) -> Result<(), SimulateError> {
    let input = input::read(arguments)?;
    let choices = choice::choices(arguments, &input)?;
    if arguments.fill {
        return filling::run(arguments, &input, &choices);
    }
    // A long run must not end at a folder that is not there.
    let files = [&arguments.json, &arguments.jobs_out, &arguments.report];
    files.into_iter().flatten().try_for_each(|file| check_writable(file))?;
    let mut outcomes = Vec::with_capacity(choices.len());
    for choice in &choices {
        let outcome = replayed(arguments, &input, choice)?;
        tell_left_out(&outcome);
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
    let mut bar = watch::Bar::new(&choice.name, input.jobs.len());
    let replay = if arguments.engine_alone { replay_engine_alone } else { replay };
    let outcome = replay(&plan, &mut bar)?;
    bar.clear();
    Ok(outcome)
}

/// Jobs that the cluster could not run, however empty, or that the policy refuses, are no part of
/// the metrics.
fn tell_left_out(outcome: &Outcome) {
    let Outcome { policy, never_fit, refused, jobs, .. } = outcome;
    let all = jobs.len() + never_fit.len() + refused.len();
    if !never_fit.is_empty() {
        eprintln!(
            "{policy}: {} of {all} jobs ask for more than the nodes have when empty, and are left \
             out: {}",
            never_fit.len(),
            few(never_fit.iter().copied())
        );
    }
    // A sentence says what one job asked for: the first stands for the rest.
    if let Some(RefusedJob { id, why }) = refused.first() {
        let numbers = refused.iter().map(|job| job.id);
        eprintln!(
            "{policy}: {} of {all} jobs are refused by the policy, and are left out: {}; job {id}: \
             {why}",
            refused.len(),
            few(numbers)
        );
    }
}

/// The first of these numbers: `1, 2, 3, 4, 5, ...`.
fn few(numbers: impl ExactSizeIterator<Item = u64>) -> String {
    const SHOWN: usize = 5;
    let more = if numbers.len() > SHOWN { ", ..." } else { "" };
    let few: Vec<String> = numbers.take(SHOWN).map(|number| number.to_string()).collect();
    format!("{}{more}", few.join(", "))
}

/// Opens a file as it will be written, without touching what is in it.
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
