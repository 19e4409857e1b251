//! kant-sim, the simulator: evaluates policies on recorded workloads and requests, and runs
//! fair-sharing test cases against the engine, in virtual time. It is a program of its own so that
//! the controller does not contain it.

mod random;
mod table;

mod cases;
mod services;
mod simulate;

mod day_night;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A large replay allocates and frees a small value for each node of each job.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Evaluate policies of scheduling and of autoscaling in virtual time, with the code of kantctld
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Evaluate policies on a recorded workload
    Simulate(Box<simulate::Arguments>),
    /// Run fair-sharing test cases and report whether each outcome is as expected
    Cases(cases::Arguments),
    /// Evaluate autoscaling policies on the requests to a service
    Services(Box<services::Arguments>),
    /// Compare sizes of a service by day and by night, beside training on the same cluster
    DayNight(day_night::Arguments),
}

fn main() -> ExitCode {
    match run(&Arguments::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kant-sim: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(verb: &Verb) -> anyhow::Result<()> {
    match verb {
        Verb::Simulate(arguments) => Ok(simulate::run(arguments)?),
        Verb::Cases(arguments) => Ok(cases::run(arguments, &mut std::io::stdout().lock())?),
        Verb::Services(arguments) => Ok(services::run(arguments, &mut std::io::stdout().lock())?),
        Verb::DayNight(arguments) => Ok(day_night::run(arguments, &mut std::io::stdout().lock())?),
    }
}
