//! Measurements that need an optimised build: `cargo xtask bench engine` and `bench quality` run
//! this. Never a test: nothing here passes or fails.

mod cluster;
mod machine;
mod policy;
mod quality;
mod rounds;
mod row;
mod traces;

use clap::Parser;

/// Measures the engine.
#[derive(Parser)]
enum Command {
    /// Rounds on made-up clusters
    Engine(rounds::Args),
    /// One row of those, for `engine` to call
    #[command(hide = true)]
    EngineRow(row::Args),
    /// Policies on replayed traces
    Quality(quality::Args),
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::Engine(args) => rounds::run(&args),
        Command::EngineRow(args) => row::run(&args),
        Command::Quality(args) => quality::run(&args),
    }
}
