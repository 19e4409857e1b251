//! `cargo xtask bench NAME`: measurements, printed with the machine they were made on. Never a
//! test: nothing here passes or fails.

mod e2e_bench;
mod figures;

/// Measure kant on this machine
#[derive(clap::Args)]
pub struct Args {
    /// What to measure
    #[arg(value_enum)]
    name: Name,
    /// How often each measurement is repeated; the median is shown with minimum and maximum
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Name {
    /// One controller and one node on loopback: submit, start, complete, memory
    E2e,
}

/// Runs a benchmark.
///
/// # Errors
/// When a daemon cannot be built or does not answer.
pub fn run(args: Args) -> anyhow::Result<()> {
    let figures = match args.name {
        Name::E2e => e2e_bench::measure(args.rounds)?,
    };
    match args.json {
        true => println!("{:#}", figures.to_json()),
        false => print!("{}", figures.to_table()),
    }
    Ok(())
}
