//! Measurements that need an optimised build: `cargo xtask bench engine` and `bench quality` run
//! this. Never a test: nothing here passes or fails.

mod cluster;
mod quality;
mod rounds;
mod traces;

use clap::Parser;

/// Measures the engine.
#[derive(Parser)]
enum Command {
    /// Rounds on made-up clusters
    Engine(rounds::Args),
    /// Policies on replayed traces
    Quality(quality::Args),
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::Engine(args) => rounds::run(&args),
        Command::Quality(args) => quality::run(&args),
    }
}
