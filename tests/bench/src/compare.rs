//! kant and Slurm side by side: the same workload through the command lines of both, in turns, each
//! with one controller and one node on loopback. Prints samples; never judges them.

mod debian;
mod slurm;
mod workload;

use crate::figures::Figures;
use anyhow::ensure;
use common::config::{ControllerConfig, NodeConfig};
use e2e::{Cluster, ClusterOptions, Machine, Person};
use indicatif::{ProgressBar, ProgressStyle};
use slurm::{Slurm, Tuning};
use std::path::PathBuf;
use std::time::Duration;
use workload::Side;

/// What to compare with
#[derive(clap::Args)]
pub struct Args {
    /// How often each measurement is repeated, in turns
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where Slurm is unpacked, as `dpkg -x` does; without it the installed one, or Debian's
    /// packages, fetched by apt-get into the build directory and not installed
    #[arg(long, value_name = "DIR")]
    slurm: Option<PathBuf>,
}

/// Measures everything; kant's daemons are built like this program.
pub fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(e2e::is_root(), "Slurm's daemons run jobs as root only: run this as root");
    let bar = ProgressBar::new((args.rounds * 3) as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}")?);
    bar.enable_steady_tick(Duration::from_secs(1));
    bar.set_message("looking for Slurm");
    let programs = debian::programs(args.slurm.as_deref())?;
    bar.set_message("building kant's daemons");
    let nodes = vec![("n1", Machine::cpu())];
    let (controller, node) = (Some(as_in_production as _), Some(for_root as _));
    let options = ClusterOptions { nodes, controller, node, ..Default::default() };
    let mut cluster = Cluster::start(options)?;
    let kant = Side::Kant(cluster.kantctl(Person::me())?);
    let tuned = Side::Slurm(Slurm::start(programs.clone(), Tuning::Short)?);
    let slurm = Side::Slurm(Slurm::start(programs, Tuning::Stock)?);
    let mut figures = Figures::default();
    for _ in 0..args.rounds {
        for side in [&kant, &slurm, &tuned] {
            bar.inc(1);
            bar.set_message(side.name());
            workload::measure(side, &mut figures)?;
        }
    }
    drop((slurm, tuned));
    cluster.wind_down()?;
    bar.finish_and_clear();
    println!("{:#}", figures.to_json());
    Ok(())
}

/// As it is installed, but for jobs of the same user on both sides: tests log more, and look at the
/// node's health and at what jobs use every second.
fn for_root(config: &mut NodeConfig) {
    let installed = NodeConfig::default();
    config.allow_root_jobs = true;
    config.log = installed.log;
    config.health_seconds = installed.health_seconds;
    config.accounting_seconds = installed.accounting_seconds;
}

/// Logging what Slurm logs, and jobs of the same user on both sides.
fn as_in_production(config: &mut ControllerConfig) {
    config.log = "info".to_owned();
    config.allow_root_jobs = true;
}
