//! `kant-sim services`: evaluates autoscaling policies on recorded or generated requests. This
//! module reads and writes files and draws random requests; `sim::service` simulates.

mod choice;
mod error;
pub mod generate;
mod named;
mod study;
mod table;

pub use error::ServicesError;

use crate::table::{Row, table};
use clap::{Args, ValueEnum};
use common::autoscale::{Fraction, Replicas, Tokens};
use common::time::Span;
use common::unit::Gpus;
use generate::Shape;
use serde::Serialize;
use sim::service::{Goal, Outcome, Setup};
use std::io::Write;
use std::path::{Path, PathBuf};
use study::{Study, study};
use table::COLUMNS;
use trace::{Request, read_requests};

/// Options of `services`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Policies by name, each with the defaults of its source:
  kpa            Knative: requests in flight, 70 % of the places of each replica
  hpa            Kubernetes: GPU time in use, 80 %
  hpa-in-flight  Kubernetes: requests in flight, 80 % of the places of each replica
  queue          Llumnix and Dynamo: queues and memory of the engines
  skyserve       SkyServe: requests per second, 70 % of what a replica does in the mean
A policy file is TOML or JSON (docs/operating/autoscaling.md). The trace is CSV with the columns
arrival_s, service_s and, if known, tokens_in and tokens_out; it may be compressed (.gz).
`fixed N` in the result is the smallest fixed number of replicas that meets --misses-max, chosen
with hindsight.")]
pub struct Arguments {
    /// The requests, as CSV
    #[arg(value_name = "TRACE", required_unless_present = "generate")]
    trace: Option<PathBuf>,
    /// Generate the requests instead: a daily cycle with bursts
    #[arg(long, value_enum, conflicts_with = "trace")]
    generate: Option<ShapeName>,
    /// With --generate: the seed, or the first of several
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// With --generate: the number of seeds; the result is their mean and standard deviation
    #[arg(long, value_name = "N", default_value_t = 1, requires = "generate")]
    seeds: u32,
    /// With --generate: the number of days
    #[arg(long, value_name = "N", default_value_t = Shape::DAY.days, requires = "generate")]
    days: u32,
    /// With --generate: requests per second, the mean over a day
    #[arg(long, value_name = "X", requires = "generate")]
    #[arg(default_value_t = Shape::DAY.rate_per_second)]
    rate: f64,
    /// With --generate: seconds that a request takes on a replica, in the mean
    #[arg(long, value_name = "X", requires = "generate")]
    #[arg(default_value_t = Shape::DAY.service_seconds)]
    service: f64,
    /// Write the requests to this file
    #[arg(long, value_name = "FILE", conflicts_with = "seeds")]
    write_trace: Option<PathBuf>,
    /// Policies by name or file, to compare with kpa and hpa
    #[arg(long, value_name = "NAME|FILE", num_args = 1..)]
    policy: Vec<String>,
    /// Requests on which a replica works at a time
    #[arg(long, value_name = "N", default_value_t = 8)]
    concurrency: u32,
    /// The time from the start of a replica until it is ready, e.g. 90s
    #[arg(long, value_name = "TIME", default_value = "90s")]
    start_delay: Span,
    /// GPUs of each replica
    #[arg(long, value_name = "N", default_value_t = 1)]
    gpus: u32,
    /// A request that waits for longer misses its objective
    #[arg(long, value_name = "TIME", default_value = "5s")]
    wait_bound: Span,
    /// Replicas that are ready when the trace begins
    #[arg(long, value_name = "N", default_value_t = 1)]
    initial: u32,
    /// The most replicas of policies by name
    #[arg(long, value_name = "N", default_value_t = 64)]
    max: u32,
    /// Tokens for which a replica has memory, for the policy queue [default: as many as fill its
    /// places with requests of the trace's mean length]
    #[arg(long, value_name = "N")]
    kv_tokens: Option<u32>,
    /// Choose the target utilisation on the first half of the trace; all figures are then of the
    /// second half. Tunes the first policy of --policy, or kpa
    #[arg(long)]
    tune: bool,
    /// The part of requests that may miss the bound, for --tune and the fixed number, e.g. 0.01
    #[arg(long, value_name = "X", default_value_t = 0.01)]
    misses_max: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write each change of the number of replicas, with its reason, as lines of JSON
    #[arg(long, value_name = "FILE")]
    decisions: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShapeName {
    /// A cycle of 24 hours with bursts
    Day,
}

#[derive(Serialize)]
struct Output<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    generated: Option<Shape>,
    misses_max: Goal,
    studies: &'a [Study],
}

/// The meaning of the columns, on standard error.
const LEGEND: &str = "
misses: requests that waited for longer than --wait-bound. GPU-hours: from the start of each replica
to its end. busy: part of the places of all replicas in use. changes: decisions that changed the
number of replicas. starts: replicas started. most: replicas at a time
";

/// Simulates and prints the figures.
///
/// # Errors
/// [`ServicesError`], for input that cannot be read or used.
pub fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), ServicesError> {
    let goal = goal(arguments)?;
    let shape = arguments.generate.map(|ShapeName::Day| shape(arguments)).transpose()?;
    let mut studies = Vec::new();
    match (&shape, &arguments.trace) {
        (Some(shape), _) => {
            for seed in (arguments.seed..).take(arguments.seeds.max(1) as usize) {
                let requests = shape.requests(seed);
                studies.push(study(
                    arguments,
                    setup(arguments, &requests)?,
                    goal,
                    &requests,
                    Some(seed),
                )?);
            }
        }
        (None, Some(file)) => {
            let requests = read_requests(&path_text(file), &read(file)?)?;
            studies.push(study(arguments, setup(arguments, &requests)?, goal, &requests, None)?);
        }
        (None, None) => {}
    }
    if let Some(file) = &arguments.decisions {
        write_decisions(file, &studies)?;
    }
    if arguments.json {
        let output = Output { generated: shape, misses_max: goal, studies: &studies };
        let text = serde_json::to_string_pretty(&output).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
        return Ok(());
    }
    print_table(&studies, out)
}

/// The outcomes of each policy together, in the order of the first trace. What `--tune` chose is
/// printed below the table.
fn print_table(studies: &[Study], out: &mut impl Write) -> Result<(), ServicesError> {
    let Some(first) = studies.first() else { return Ok(()) };
    let rows = (0..first.outcomes.len()).map(|at| {
        let outcomes: Vec<&Outcome> =
            studies.iter().filter_map(|study| study.outcomes.get(at)).collect();
        let same = outcomes.iter().all(|outcome| outcome.policy == first.outcomes[at].policy);
        // The fixed numbers of several traces differ.
        let word = first.outcomes[at].policy.split(' ').next().unwrap_or_default();
        let policy = if same { first.outcomes[at].policy.clone() } else { word.to_owned() };
        Row { policy, outcomes }
    });
    write!(out, "{}", table(COLUMNS, &rows.collect::<Vec<Row<'_, Outcome>>>()))?;
    for study in studies {
        let Some(tuned) = &study.tuned else { continue };
        let seed = study.seed.map_or_else(String::new, |seed| format!("seed {seed}: "));
        let met = if tuned.met { "" } else { "; no value met --misses-max" };
        writeln!(
            out,
            "{seed}{} tuned to a target of {} on the first half ({:.2} % misses, {:.1} GPU-hours, \
             {} values tried{met})",
            tuned.policy,
            tuned.utilisation.percent(),
            tuned.chosen_on.miss_fraction * 100.0,
            tuned.chosen_on.gpu_hours,
            tuned.tried,
        )?;
    }
    eprint!("{LEGEND}");
    Ok(())
}

/// A line for each change, with trace and policy.
fn write_decisions(file: &Path, studies: &[Study]) -> Result<(), ServicesError> {
    let mut text = String::new();
    for study in studies {
        for outcome in &study.outcomes {
            for step in &outcome.steps {
                let line = DecisionLine { seed: study.seed, policy: &outcome.policy, step };
                text.push_str(&serde_json::to_string(&line).map_err(std::io::Error::from)?);
                text.push('\n');
            }
        }
    }
    write(file, &text)
}

#[derive(Serialize)]
struct DecisionLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    policy: &'a str,
    #[serde(flatten)]
    step: &'a sim::service::Step,
}

/// A number above zero.
fn positive(option: &'static str, value: f64) -> Result<f64, ServicesError> {
    let is_good = value.is_finite() && value > 0.0;
    let valid = "give a number above zero";
    let error = || ServicesError::Option { option, value: value.to_string(), valid };
    is_good.then_some(value).ok_or_else(error)
}

fn shape(arguments: &Arguments) -> Result<Shape, ServicesError> {
    Ok(Shape {
        days: arguments.days.max(1),
        rate_per_second: positive("--rate", arguments.rate)?,
        service_seconds: positive("--service", arguments.service)?,
        ..Shape::DAY
    })
}

fn setup(arguments: &Arguments, requests: &[Request]) -> Result<Setup, ServicesError> {
    let Arguments { concurrency, start_delay, gpus, wait_bound, initial, .. } = *arguments;
    if concurrency == 0 {
        let (option, value) = ("--concurrency", "0".to_owned());
        return Err(ServicesError::Option { option, value, valid: "give at least 1" });
    }
    let kv_tokens = arguments.kv_tokens.unwrap_or_else(|| {
        let length = mean_tokens(requests).unwrap_or(1000);
        concurrency.saturating_mul(length)
    });
    Ok(Setup {
        concurrency,
        start_delay,
        gpus: Gpus(gpus),
        wait_bound,
        initial: Replicas(initial),
        kv_tokens: Tokens::whole(kv_tokens),
    })
}

/// The mean tokens of a request and its answer; `None` if the trace has none.
fn mean_tokens(requests: &[Request]) -> Option<u32> {
    let lengths = requests
        .iter()
        .filter_map(|request| Some(u64::from(request.tokens_in?) + u64::from(request.tokens_out?)));
    let (count, sum) = lengths.fold((0_u64, 0), |(count, sum), length| (count + 1, sum + length));
    u32::try_from(sum.checked_div(count)?).ok().filter(|mean| *mean > 0)
}

fn goal(arguments: &Arguments) -> Result<Goal, ServicesError> {
    let part = Fraction::from_f64(arguments.misses_max).filter(|part| *part <= Fraction::WHOLE);
    let value = arguments.misses_max.to_string();
    let valid = "give a part from 0 to 1, for example 0.01";
    part.map(Goal).ok_or(ServicesError::Option { option: "--misses-max", value, valid })
}

fn read(file: &Path) -> Result<Vec<u8>, ServicesError> {
    std::fs::read(file).map_err(|source| ServicesError::Read { file: path_text(file), source })
}

fn write(file: &Path, text: &str) -> Result<(), ServicesError> {
    let written = std::fs::write(file, text);
    written.map_err(|source| ServicesError::Write { file: path_text(file), source })
}

fn path_text(file: &Path) -> String {
    file.display().to_string()
}

#[cfg(test)]
mod tests;
