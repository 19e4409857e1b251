//! Measurements that need an optimised build: `cargo xtask bench engine`, `quality`, `raft`,
//! `scale`, `growth`, `node`, `cli`, `arrays` and `e2e --compare` run this. Never a test: nothing
//! here passes or fails.

mod arrays;
mod cli;
mod cluster;
mod compare;
mod figures;
mod growth;
mod machine;
mod node;
mod policy;
mod quality;
mod raft;
mod rounds;
mod row;
mod scale;
mod traces;

use clap::Parser;

/// Measures the engine, and controllers.
#[derive(Parser)]
enum Command {
    /// Rounds on made-up clusters
    Engine(rounds::Args),
    /// One row of those, for `engine` to call
    #[command(hide = true)]
    EngineRow(row::Args),
    /// Policies on replayed traces
    Quality(quality::Args),
    /// Controllers on loopback: submits, failovers, restarts, snapshots
    Raft(raft::Args),
    /// A controller with thousands of emulated nodes
    Scale(scale::Args),
    /// A controller as there is more of something
    Growth(growth::Args),
    /// kant and Slurm side by side
    Compare(compare::Args),
    /// kantd and its steps: memory, CPU, launches
    Node(node::Args),
    /// kantctl as it is typed: lists, submits, arrays
    Cli(cli::Args),
    /// An array of very many tasks, and who works beside it
    Arrays(arrays::Args),
}

fn main() -> anyhow::Result<()> {
    let command = Command::parse();
    e2e::end_daemons_on_signal()?;
    match command {
        Command::Engine(args) => rounds::run(&args),
        Command::EngineRow(args) => row::run(&args),
        Command::Quality(args) => quality::run(&args),
        Command::Raft(args) => raft::run(&args),
        Command::Scale(args) => scale::run(&args),
        Command::Growth(args) => growth::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Node(args) => node::run(&args),
        Command::Cli(args) => cli::run(&args),
        Command::Arrays(args) => arrays::run(&args),
    }
}
