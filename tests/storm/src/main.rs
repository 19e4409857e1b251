//! The simulation as a program, which `cargo xtask sim` runs.

use clap::Parser;
use std::process::ExitCode;

/// Simulate the whole control plane with faults, one history per seed
#[derive(Parser)]
#[command(name = "cargo xtask sim", bin_name = "cargo xtask sim")]
struct Cli {
    #[command(flatten)]
    args: storm::Args,
}

fn main() -> ExitCode {
    match storm::main(&Cli::parse().args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
