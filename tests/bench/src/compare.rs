//! The comparison of kant and Slurm: the same workload through the command lines of both, in turns,
//! each with one controller and one node on loopback. It prints samples and sets no limits.

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

/// Options of the comparison
#[derive(clap::Args)]
pub struct Args {
    /// Number of times that each measurement is repeated, in turns
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Directory in which Slurm is unpacked, as by `dpkg -x`. Default: the installed Slurm, or
    /// Debian's packages, which apt-get downloads into the build directory without installing them
    #[arg(long, value_name = "DIR")]
    slurm: Option<PathBuf>,
}

/// Measures everything. kant's daemons are built in the same way as this program.
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

/// Settings as installed, except that root may run jobs, as with Slurm. The defaults of tests log
/// more and check health and usage every second.
fn for_root(config: &mut NodeConfig) {
    let installed = NodeConfig::default();
    config.allow_root_jobs = true;
    config.log = installed.log;
    config.health_seconds = installed.health_seconds;
    config.accounting_seconds = installed.accounting_seconds;
}

/// Logs as much as Slurm does, and allows jobs of root, as Slurm does.
fn as_in_production(config: &mut ControllerConfig) {
    config.log = "info".to_owned();
    config.allow_root_jobs = true;
}
