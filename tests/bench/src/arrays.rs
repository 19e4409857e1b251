//! The benchmark of large arrays: how long each log entry of an action on a whole array takes to
//! apply, and how long another client's writes wait meanwhile. It prints samples and sets no
//! limits.

mod beside;
mod entries;

use crate::figures::Figures;

/// Options of the benchmark of arrays
#[derive(clap::Args)]
pub struct Args {
    /// Number of times that each action is measured
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Tasks of the array; one user may have 100,000 jobs
    #[arg(long, default_value_t = 99_990)]
    tasks: u32,
    /// Measure only how long entries take to apply, without a controller
    #[arg(long)]
    entries: bool,
}

/// Measures everything. The daemons are built in the same way as this program.
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
