//! Measurements that need an optimised build: `cargo xtask bench engine` and `bench quality` run
//! this. Never a test: nothing here passes or fails.

mod cluster;
mod rounds;

use clap::Parser;

/// Measures the engine.
#[derive(Parser)]
enum Command {
    /// Rounds on made-up clusters
    Engine(rounds::Args),
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::Engine(args) => rounds::run(&args),
    }
}
