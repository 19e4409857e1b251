//! The benchmark of controllers on loopback that make everything durable: the cost of submissions,
//! the outage when the leader is lost, and the time of a restart and of a snapshot. It prints
//! samples and sets no limits.

mod away;
mod rates;
mod restart;
mod snapshot;

pub use rates::{SCRIPT, by_each, submit_all};

use crate::figures::Figures;
use e2e::Controllers;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// Options of the benchmark of controllers
#[derive(clap::Args)]
pub struct Args {
    /// Number of times that each rate and each restart is measured; a leader is lost four times as
    /// often
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Number of waiting jobs while restarts and snapshots are measured. One user may have 100,000,
    /// and the measurements submit some more
    #[arg(long, default_value_t = 95_000)]
    jobs: usize,
    /// Seconds for which each rate is measured
    #[arg(long, default_value_t = 4)]
    seconds: u64,
}

/// Measures everything. The daemons are built in the same way as this program.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let bar = ProgressBar::new(8);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}")?);
    bar.enable_steady_tick(Duration::from_secs(1));
    let step = |name: &'static str| {
        bar.inc(1);
        bar.set_message(name);
    };
    bar.set_message("building the daemons");
    let mut figures = Figures::default();
    measure(args, &mut figures, step)?;
    bar.finish_and_clear();
    println!("{:#}", figures.to_json());
    Ok(())
}

fn measure(args: &Args, figures: &mut Figures, step: impl Fn(&'static str)) -> anyhow::Result<()> {
    let Args { rounds, jobs, seconds } = *args;
    let span = Duration::from_secs(seconds);
    let one = Controllers::of(&["a"], log_as_in_production)?;
    step("syncs of this disk");
    figures.times("fdatasync of 512 B on this disk", &e2e::sync_times(one.dir())?);
    step("submits, one controller");
    rates::measure(&one, "1 controller", span, rounds, figures)?;
    drop(one);
    let mut three = Controllers::of(&["a", "b", "c"], log_as_in_production)?;
    step("lost leaders");
    away::measure(&mut three, "", 4 * rounds, figures)?;
    step("submits, three controllers");
    rates::measure(&three, "3 controllers", span, rounds, figures)?;
    drop(three);
    let mut one = Controllers::of(&["a"], log_as_in_production)?;
    step("one controller is given many jobs");
    let long = restart::fill(&mut one, jobs)?;
    step("restarts and snapshots");
    restart::measure(&mut one, jobs, rounds, figures)?;
    snapshot::measure(&one, jobs, rounds, figures)?;
    restart::empty(&mut one, &long)?;
    drop(one);
    let mut three = Controllers::of(&["a", "b", "c"], log_as_in_production)?;
    step("three controllers are given many jobs");
    let long = restart::fill(&mut three, jobs)?;
    step("leaders with many jobs are lost");
    away::measure(&mut three, &format!(", {jobs} jobs wait"), rounds, figures)?;
    restart::empty(&mut three, &long)
}

/// Logs as in production; more logging would take time.
fn log_as_in_production(config: &mut common::config::ControllerConfig) {
    config.log = "info".to_owned();
}
