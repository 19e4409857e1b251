//! `kant-sim day-night`: a service and training on one cluster over days, with the service kept at
//! its size by day, sized by the hours, or by its load. This module draws the demand;
//! `sim::day_night` simulates.

mod columns;
mod demand;

use crate::table::{Row, table};
use clap::Args;
use columns::COLUMNS;
use common::id::QueueName;
use common::policy::Moves;
use common::time::Span;
use common::unit::Gpus;
use demand::{Demands, TrainingShape};
use serde::Serialize;
use sim::day_night::{DayNightError, Demand, Figures, Setup, Sizing, play};
use std::io::Write;

/// Options of `day-night`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "The service has a queue, `serving`, whose quota is its size by day. Two \
teams, `vision` and `speech`, share the rest of the GPUs equally, and their training may borrow.
  fixed  the service has its size by day all the time
  hours  its size follows the hours
  load   its size follows the requests in flight, 70 % of the places of each replica
Requests are generated as by `kant-sim services --generate day`.")]
pub struct Arguments {
    /// The seed, or the first of several
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The number of seeds; the result is their mean and standard deviation
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u32,
    /// The number of days
    #[arg(long, value_name = "N", default_value_t = 7)]
    days: u32,
    /// Nodes of 8 GPUs
    #[arg(long, value_name = "N", default_value_t = 8)]
    nodes: u32,
    /// GPUs of each replica
    #[arg(long, value_name = "N", default_value_t = 4)]
    gpus: u32,
    /// Replicas by day
    #[arg(long, value_name = "N", default_value_t = 8)]
    by_day: u32,
    /// Replicas by night
    #[arg(long, value_name = "N", default_value_t = 3)]
    by_night: u32,
    /// The first hour of the day
    #[arg(long, value_name = "HOUR", default_value_t = 7)]
    day_begins: u32,
    /// The first hour of the night
    #[arg(long, value_name = "HOUR", default_value_t = 21)]
    day_ends: u32,
    /// Requests per second, the mean over a day
    #[arg(long, value_name = "X", default_value_t = 3.0)]
    rate: f64,
    /// GPUs that training would keep busy in the mean
    #[arg(long, value_name = "X", default_value_t = 30.0)]
    training: f64,
    /// GPUs of the largest training jobs: 1, 2, 4 or 8
    #[arg(long, value_name = "N", default_value_t = 8)]
    training_gpus: u32,
    /// For this long after its start, training is not stopped for another queue
    #[arg(long, value_name = "TIME", default_value = "30m")]
    protection: Span,
    /// Training saves its work this often
    #[arg(long, value_name = "TIME", default_value = "30m")]
    checkpoint: Span,
    /// Moves of training per hour, at most, that make room for larger jobs
    #[arg(long, value_name = "N", default_value_t = 0)]
    moves: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Output<'a> {
    setup: &'a Setup,
    training: TrainingShape,
    runs: &'a [Run],
}

/// One run of one seed.
#[derive(Serialize)]
struct Run {
    seed: u64,
    #[serde(flatten)]
    figures: Figures,
}

/// Why nothing was simulated.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("failed to use {option} {value}: {valid}")]
    Option { option: &'static str, value: String, valid: &'static str },
    #[error(transparent)]
    DayNight(#[from] DayNightError),
    #[error("failed to write the result: {0}")]
    Print(#[from] std::io::Error),
}

/// The meaning of the columns, on standard error.
const LEGEND: &str = "
GAR: GPUs allocated, median over time. SOR: GPU time allocated of all there is. wait: of training,
from its submission to its first start. training, lost: GPU-hours allocated to training, and those
of them whose work was repeated. done, left: jobs that ended, and those that wait or run at the end.
stops: preemptions. service: GPU-hours allocated to replicas. no place: requests in flight for which
no ready replica had a place, over time. below: the longest time in which a queue with a waiting job
was below its quota; beyond: what of it was longer than --protection
";

/// Simulates and prints the figures.
///
/// # Errors
/// [`CommandError`], for options that cannot be used and runs that fail.
pub fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), CommandError> {
    let setup = setup(arguments)?;
    let shape = TrainingShape { busy_gpus: arguments.training, ..TrainingShape::WEEK };
    let shape = shape.up_to(Gpus(arguments.training_gpus));
    let mut runs = Vec::new();
    for seed in (arguments.seed..).take(arguments.seeds.max(1) as usize) {
        let Demands { training, in_flight } = demand::draw(&setup, &shape, arguments.rate, seed);
        let demand = Demand { training: &training, in_flight: &in_flight };
        for sizing in Sizing::ALL {
            runs.push(Run { seed, figures: play(&setup, sizing, demand)? });
        }
    }
    if arguments.json {
        let output = Output { setup: &setup, training: shape, runs: &runs };
        let text = serde_json::to_string_pretty(&output).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
        return Ok(());
    }
    let row = |sizing: Sizing| Row {
        policy: sizing.name().to_owned(),
        outcomes: runs.iter().map(|run| &run.figures).filter(|one| one.sizing == sizing).collect(),
    };
    write!(out, "{}", table(COLUMNS, &Sizing::ALL.map(row)))?;
    eprint!("{LEGEND}");
    Ok(())
}

fn setup(arguments: &Arguments) -> Result<Setup, CommandError> {
    let Arguments { gpus, nodes, by_day, by_night, day_begins, day_ends, .. } = *arguments;
    let refuse = |option, value: String, valid| Err(CommandError::Option { option, value, valid });
    let serving = by_day.saturating_mul(gpus);
    let all = nodes.saturating_mul(u32::from(GPUS_PER_NODE));
    if !(1..=u32::from(GPUS_PER_NODE)).contains(&gpus) {
        return refuse("--gpus", gpus.to_string(), "a replica has 1 to 8 GPUs");
    }
    if arguments.training_gpus == 0 {
        return refuse("--training-gpus", "0".to_owned(), "give 1, 2, 4 or 8");
    }
    if by_day == 0 || serving >= all {
        return refuse("--by-day", by_day.to_string(), "leave GPUs for training, and at least one");
    }
    if by_night > by_day {
        return refuse("--by-night", by_night.to_string(), "give at most --by-day");
    }
    if day_begins >= day_ends || day_ends > 24 {
        return refuse("--day-ends", day_ends.to_string(), "give an hour after --day-begins");
    }
    for (option, value) in [("--rate", arguments.rate), ("--training", arguments.training)] {
        if !value.is_finite() || value <= 0.0 {
            return refuse(option, value.to_string(), "give a number above zero");
        }
    }
    let quota = Gpus((all - serving) / 2);
    let team = |name: &str| (name.parse::<QueueName>().expect("a name of a queue"), quota);
    Ok(Setup {
        days: arguments.days.max(1),
        nodes,
        gpus_per_node: GPUS_PER_NODE,
        gpus_per_replica: Gpus(gpus),
        replicas_by_day: by_day,
        replicas_by_night: by_night,
        day: (day_begins, day_ends),
        concurrency: 8,
        down_delay: Span::from_minutes(10),
        start_delay: Span::from_seconds(90),
        teams: vec![team("vision"), team("speech")],
        protection: arguments.protection,
        checkpoint: arguments.checkpoint,
        moves: Moves {
            per_hour: arguments.moves,
            // A whole node's work since its last checkpoint.
            lost_gpu_minutes_max: u64::from(GPUS_PER_NODE) * arguments.checkpoint.seconds() / 60,
        },
    })
}

const GPUS_PER_NODE: u16 = 8;

#[cfg(test)]
mod tests;
