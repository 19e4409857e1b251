//! `cargo xtask sim`: builds and runs the deterministic simulation of `tests/storm`.

use anyhow::{Context, bail};
use std::process::Command;

/// Simulate the whole control plane with faults, one history per seed
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Arguments of the simulation, listed by `cargo xtask sim --help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds the simulation and runs it.
///
/// # Errors
/// When it cannot be built, or a check fails.
pub fn run(args: Args) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "-p", "storm", "--"])
        .args(args.arguments)
        .status()
        .context("failed to start cargo")?;
    if status.success() { Ok(()) } else { bail!("the simulation ended with {status}") }
}
