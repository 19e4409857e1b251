//! Measurements that need an optimised build, for `cargo xtask bench engine`, `quality`, `raft`,
//! `scale`, `growth`, `node`, `cli`, `services`, `arrays` and `e2e --compare`. They are not tests:
//! nothing here passes or fails.

mod figures;
mod machine;
mod policy;
mod traces;

mod arrays;
mod cluster;
mod compare;
mod node;
mod quality;
mod raft;
mod scale;
mod services;

mod cli;
mod fleet;
mod growth;
mod row;

mod rounds;

use clap::Parser;

/// Measures the engine and controllers.
#[derive(Parser)]
enum Command {
    /// Rounds on synthetic clusters
    Engine(rounds::Args),
    /// One row of the rounds, which `engine` runs in a process of its own
    #[command(hide = true)]
    EngineRow(row::Args),
    /// Policies on replayed traces
    Quality(quality::Args),
    /// Controllers on loopback: submissions, failovers, restarts, snapshots
    Raft(raft::Args),
    /// A controller with thousands of emulated nodes
    Scale(scale::Args),
    /// A controller as jobs, nodes or clients increase
    Growth(growth::Args),
    /// kant and Slurm under the same workload
    Compare(compare::Args),
    /// kantd and its steps: memory, CPU, launches
    Node(node::Args),
    /// kantctl commands: lists, submissions, arrays
    Cli(cli::Args),
    /// The router of services, beside nginx and haproxy
    Services(services::Args),
    /// Many services: what they cost a controller, and how soon replicas are there
    Fleet(fleet::Args),
    /// A process that `services` starts
    #[command(hide = true)]
    ServicesPart(services::PartArgs),
    /// Actions on an array of very many tasks, and their effect on other clients
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
        Command::Services(args) => services::run(&args),
        Command::Fleet(args) => fleet::run(&args),
        Command::ServicesPart(args) => services::run_part(&args),
        Command::Arrays(args) => arrays::run(&args),
    }
}
