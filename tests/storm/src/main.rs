//! The simulation as a program, for `cargo xtask sim` to run. Never does anything but that.

use clap::Parser;
use std::process::ExitCode;

/// Simulate the whole control plane with faults, one history a seed
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
