//! `srun` in a job's script: the tasks of a step, side by side, on the script's node and, by way of
//! `kantctl launch`, on the job's others. Never runs outside a job; it says so.
//! Source: man srun.

mod layout;
mod place;
mod run;
mod stream;

use super::name::Common;
use crate::failure::Failure;
use crate::submission::export::Export;
use place::Place;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Run the tasks of a step inside a job, as Slurm's srun does
#[derive(clap::Parser, Debug)]
#[command(name = "srun", disable_help_flag = true, disable_version_flag = true)]
#[command(override_usage = "srun [OPTIONS] PROGRAM [ARGUMENT]...")]
#[allow(missing_docs)] // each field's comment is its help
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// How many tasks [default: as many as the job has]
    #[arg(short = 'n', long = "ntasks", value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub tasks: Option<u32>,
    /// How many nodes
    #[arg(short = 'N', long, value_name = "COUNT")]
    pub nodes: Option<String>,
    /// CPUs for each task: tasks share the job's
    #[arg(short = 'c', long, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub cpus_per_task: Option<u32>,
    /// Tasks on each node
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub ntasks_per_node: Option<u32>,
    /// More tasks than CPUs may run
    #[arg(short = 'O', long)]
    pub overcommit: bool,
    /// Output file, with %j %J %s %t %N %n and sbatch's others; `none` [default: srun's own output]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<String>,
    /// Error file [default: with the output]
    #[arg(short = 'e', long, value_name = "FILE")]
    pub error: Option<String>,
    /// Input: all (tasks read what srun reads), none, a task's number, or a file
    #[arg(short = 'i', long, value_name = "FILE")]
    pub input: Option<String>,
    /// What happens to output files that exist [default: truncate]
    #[arg(long, value_name = "MODE", value_parser = ["append", "truncate"])]
    pub open_mode: Option<String>,
    /// The task's number before each line
    #[arg(short = 'l', long)]
    pub label: bool,
    /// As it comes (always)
    #[arg(short = 'u', long)]
    pub unbuffered: bool,
    /// End all tasks when one fails
    #[arg(short = 'K', long, value_name = "0|1", num_args = 0..=1, require_equals = true,
          default_missing_value = "1", value_parser = ["0", "1"])]
    pub kill_on_bad_exit: Option<String>,
    /// End the others so many seconds after the first task has ended; 0: never
    #[arg(short = 'W', long, value_name = "SECONDS")]
    pub wait: Option<u64>,
    /// Where tasks start [default: here]
    #[arg(short = 'D', long, value_name = "DIRECTORY")]
    pub chdir: Option<PathBuf>,
    /// What of the environment they get: ALL, NONE, or NAME,NAME=VALUE [default: ALL]
    #[arg(long, value_name = "NAMES")]
    pub export: Option<Export>,
    /// On a terminal of their own: one task reads and writes this one
    #[arg(long)]
    pub pty: bool,
    /// The job: only the one it runs in
    #[arg(long, value_name = "JOB")]
    pub jobid: Option<String>,
    /// How MPI programs start: none here; those of Open MPI and MPICH by mpirun, mpiexec
    #[arg(long, value_name = "none", value_parser = without_mpi)]
    pub mpi: Option<String>,
    /// The step's name
    #[arg(short = 'J', long, value_name = "NAME")]
    pub job_name: Option<String>,
    /// On these nodes
    #[arg(short = 'w', long, value_name = "NODES")]
    pub nodelist: Option<String>,
    /// Say nothing
    #[arg(short = 'Q', long)]
    pub quiet: bool,
    /// Accepted: the job's limits hold for its steps, and tasks see all of its GPUs on the node
    #[command(flatten)]
    pub accepted: Accepted,
    /// The program, and what it is given
    #[arg(value_name = "PROGRAM", required = true, num_args = 1.., trailing_var_arg = true)]
    pub program: Vec<String>,
}

/// `none`; every other kind needs a server of its own beside the tasks.
fn without_mpi(kind: &str) -> Result<String, String> {
    let instead = "start MPI programs with mpirun (Open MPI) or mpiexec (MPICH), which run over \
                   the job's nodes without more ado";
    if kind == "none" { Ok(kind.to_owned()) } else { Err(format!("not supported: {instead}")) }
}

/// Options that ask for what a step has anyway, or for a nearness that it does not need. They
/// change nothing here.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Accepted: a step has all of its job's resources on the node")]
#[allow(missing_docs)] // each field's comment is its help
pub struct Accepted {
    /// Tasks are held to the job's CPUs
    #[arg(long, value_name = "KIND")]
    pub cpu_bind: Option<String>,
    /// Memory is near the job's CPUs
    #[arg(long, value_name = "KIND")]
    pub mem_bind: Option<String>,
    /// Tasks see all GPUs: choose by SLURM_LOCALID
    #[arg(long, value_name = "KIND")]
    pub gpu_bind: Option<String>,
    /// In the order of their numbers
    #[arg(short = 'm', long, value_name = "KIND")]
    pub distribution: Option<String>,
    /// Steps may share (always)
    #[arg(long)]
    pub overlap: bool,
    /// Steps do not wait for each other's CPUs
    #[arg(long)]
    pub exact: bool,
    /// Steps do not wait for each other's CPUs
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "node")]
    pub exclusive: Option<String>,
    /// Together with others
    #[arg(short = 's', long)]
    pub oversubscribe: bool,
    /// The job's memory
    #[arg(long, value_name = "SIZE")]
    pub mem: Option<String>,
    /// The job's memory
    #[arg(long, value_name = "SIZE")]
    pub mem_per_cpu: Option<String>,
    /// The job's memory
    #[arg(long, value_name = "SIZE")]
    pub mem_per_gpu: Option<String>,
    /// The job's GPUs
    #[arg(long, value_name = "GPUS")]
    pub gres: Option<String>,
    /// The job's GPUs
    #[arg(short = 'G', long, value_name = "GPUS")]
    pub gpus: Option<String>,
    /// The job's GPUs
    #[arg(long, value_name = "GPUS")]
    pub gpus_per_node: Option<String>,
    /// The job's GPUs
    #[arg(long, value_name = "GPUS")]
    pub gpus_per_task: Option<String>,
    /// The job's time limit
    #[arg(short = 't', long, value_name = "TIME")]
    pub time: Option<String>,
    /// The job's partition
    #[arg(short = 'p', long, value_name = "NAME")]
    pub partition: Option<String>,
    /// The job's account
    #[arg(short = 'A', long, value_name = "NAME")]
    pub account: Option<String>,
    /// The job's GPUs have the CPUs that the job has
    #[arg(long, value_name = "COUNT")]
    pub cpus_per_gpu: Option<String>,
    /// Threads of a core go to one job in any case
    #[arg(long, value_name = "KIND")]
    pub hint: Option<String>,
    /// Threads of a core go to one job in any case
    #[arg(long, value_name = "COUNT")]
    pub threads_per_core: Option<String>,
    /// Tasks share the job's CPUs
    #[arg(long, value_name = "COUNT")]
    pub ntasks_per_core: Option<String>,
    /// Tasks share the job's CPUs
    #[arg(long, value_name = "COUNT")]
    pub ntasks_per_socket: Option<String>,
    /// The machine's governor decides
    #[arg(long, value_name = "KIND")]
    pub cpu_freq: Option<String>,
    /// GPUs keep the clocks they have
    #[arg(long, value_name = "KIND")]
    pub gpu_freq: Option<String>,
    /// What a job uses is measured as a whole
    #[arg(long, value_name = "KIND")]
    pub profile: Option<String>,
    /// What a job uses is measured as a whole
    #[arg(long, value_name = "SECONDS")]
    pub acctg_freq: Option<String>,
    /// The job's limits
    #[arg(long, value_name = "NAMES")]
    pub propagate: Option<String>,
    /// There are no switch plug-ins
    #[arg(long, value_name = "KIND")]
    pub network: Option<String>,
    /// The job's
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// The job's
    #[arg(short = 'q', long, value_name = "NAME")]
    pub qos: Option<String>,
    /// The job's
    #[arg(long, value_name = "NAME")]
    pub reservation: Option<String>,
    /// The job's
    #[arg(long, value_name = "NAME")]
    pub wckey: Option<String>,
    /// A lost node ends the job in any case
    #[arg(short = 'k', long)]
    pub no_kill: bool,
    /// Status by Ctrl-C is never shown
    #[arg(short = 'X', long)]
    pub disable_status: bool,
}

/// Runs a step; gives the largest exit code of its tasks.
///
/// # Errors
/// [`Failure`] outside a job, when it does not fit the job, or a program cannot be started.
pub async fn run(args: &Args) -> Result<u8, Failure> {
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let place = Place::find(args, &environment)?;
    run::step(args, &place, environment).await
}
