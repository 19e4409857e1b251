//! The project's development commands: `cargo xtask <verb>`, one verb per module. This
//! crate is never installed: nothing under kantctld, kantd or kantctl may depend on it.

mod demo;
mod programs;
mod sim;
mod tree;

mod attribute_trial;
mod bench;
mod docs;
mod generate;
mod next_release;
mod packages;

mod dist;
mod fuzz;
mod tidy;

mod vm;

mod ci;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Builds the command line from one table. A verb is a module with `struct Args`, whose doc comment
/// is the help, and `fn run(Args) -> Result<()>`; a new verb is its `mod` line and a line below.
macro_rules! verbs {
    ($($verb:ident => $module:ident),+ $(,)?) => {
        #[derive(Subcommand)]
        enum Verb {
            $($verb($module::Args)),+
        }

        impl Verb {
            fn run(self) -> Result<()> {
                match self {
                    $(Verb::$verb(args) => $module::run(args)),+
                }
            }
        }
    };
}

verbs! {
    AttributeTrial => attribute_trial,
    Bench => bench,
    Ci => ci,
    Demo => demo,
    Dist => dist,
    Docs => docs,
    Fuzz => fuzz,
    Gen => generate,
    NextRelease => next_release,
    Sim => sim,
    Tidy => tidy,
    Vm => vm,
}

/// The project's development commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

fn main() -> ExitCode {
    match Cli::parse().verb.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
