//! What an array of very many tasks costs other users: how long each log entry of an action on all
//! of it takes to apply, and how long another client's write waits meanwhile. Prints samples; never
//! judges them.

mod beside;
mod entries;

use crate::figures::Figures;

/// What to measure
#[derive(clap::Args)]
pub struct Args {
    /// How often each is measured
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Tasks of the array; one user may have 100,000 jobs
    #[arg(long, default_value_t = 99_990)]
    tasks: u32,
    /// Only what entries take to apply, without a controller
    #[arg(long)]
    entries: bool,
}

/// Measures everything; the daemons are built like this program.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut figures = Figures::default();
    for _ in 0..args.rounds {
        entries::measure(args.tasks, &mut figures)?;
        if !args.entries {
            beside::measure(args.tasks, &mut figures)?;
        }
    }
    println!("{:#}", figures.to_json());
    Ok(())
}
