//! `srun`: the tasks of a step, side by side, in the job that this runs in, in another that runs
//! (--jobid), or in one of its own. Never runs them otherwise than `kantctl run`.
//! Source: man srun.

mod accepted;
mod group;
mod narrowed;
mod of_job;
pub mod parts;
mod singletons;

use super::name::Common;
use crate::failure::Failure;
use crate::output::screen::note;
use crate::server::Server;
use crate::step::allocate::{AllocDialect, AllocationRequest};
use crate::step::binding::{CpuBind, GpuBind};
use crate::step::job_allocation::JobAllocation;
use crate::step::placement::StepPlacement;
use crate::step::step_options::StepOptions;
use crate::submission::components;
use crate::submission::environment::{self, SlurmCommand};
use crate::submission::export::Export;
use crate::submission::job_request::tasks_of;
use crate::submission::options::{self, Options};
use crate::verb::{run, test_only};
use accepted::Accepted;
use common::id::JobKey;
use of_job::OfJob;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Run the tasks of a step, in a job or in one of its own, as Slurm's srun does
#[derive(clap::Parser, Debug)]
#[command(name = "srun", disable_help_flag = true, disable_version_flag = true)]
#[command(override_usage = "srun [OPTIONS] PROGRAM [ARGUMENT]...")]
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
    /// In this job of yours, which runs [default: the one it runs in, else a new one]
    #[arg(long, value_name = "JOB")]
    pub jobid: Option<String>,
    /// In this component of the job that it runs in, or of --jobid [default: the first]
    #[arg(long, visible_alias = "pack-group", value_name = "NUMBER")]
    pub het_group: Option<String>,
    /// A new job: give up if it has not started within so many seconds [without SECONDS: 1]
    #[arg(short = 'I', long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "1")]
    pub immediate: Option<u64>,
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
    /// CPUs of its own for each task: none (tasks share the step's), cores, map_cpu:0,1
    #[arg(long, value_name = "KIND")]
    pub cpu_bind: Option<String>,
    /// GPUs that each task sees: none (all of the step's), single:N, per_task:N, map_gpu:0,1
    #[arg(long, value_name = "KIND")]
    pub gpu_bind: Option<String>,
    /// So many tasks see one GPU
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub ntasks_per_gpu: Option<u32>,
    /// Of a job of its own
    #[command(flatten)]
    pub of_job: OfJob,
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

impl Args {
    fn wish(&self) -> Result<StepOptions, Failure> {
        let accepted = &self.accepted;
        let bound = self.gpu_bind()?;
        let cpu_bind = self.cpu_bind.as_deref().map(CpuBind::read).transpose();
        Ok(StepOptions {
            program: self.program.clone(),
            name: self.job_name.clone(),
            tasks: self.tasks,
            nodes: self.nodes.clone(),
            cpus_per_task: self.cpus_per_task,
            ntasks_per_node: self.ntasks_per_node,
            overcommit: self.overcommit,
            nodelist: self.nodelist.clone(),
            output: self.output.clone(),
            error: self.error.clone(),
            input: self.input.clone(),
            append: self.open_mode.as_deref() == Some("append"),
            label: self.label,
            kill_on_bad_exit: self.kill_on_bad_exit.as_deref() == Some("1"),
            wait_seconds: self.wait,
            time: self.of_job.time_of_step()?,
            quiet: self.quiet,
            pty: self.pty,
            chdir: self.chdir.clone(),
            export: self.export.clone(),
            gpus: self.of_job.gpus_of_step()?,
            exclusive: (accepted.exact || self.of_job.exclusive.is_some()) && !accepted.overlap,
            cpu_bind: cpu_bind.map_err(Failure::usage)?.unwrap_or_default(),
            gpu_bind: bound,
        })
    }

    /// Says that tasks of MPI's would not know of each other, unless that is meant.
    fn warn_of_singletons(&self, tasks: u32, around: &BTreeMap<String, String>) {
        if self.quiet || self.mpi.is_some() || self.of_job.test_only {
            return;
        }
        let search = around.get("PATH").map(String::as_str).unwrap_or_default();
        let program = self.program.first().map(String::as_str).unwrap_or_default();
        singletons::warn_of(program, tasks, search);
    }

    /// So many tasks for a GPU share one.
    fn gpu_bind(&self) -> Result<GpuBind, Failure> {
        let shared = self.ntasks_per_gpu.map(GpuBind::Single).unwrap_or_default();
        let bind = self.gpu_bind.as_deref().map(GpuBind::read).transpose();
        Ok(bind.map_err(Failure::usage)?.unwrap_or(shared))
    }

    /// What it asks of a job of its own, as sbatch would be asked.
    fn options(&self) -> Result<Options, Failure> {
        let number = |count: Option<u32>| count.map(|count| count.to_string());
        let asked = [
            ("ntasks", number(self.tasks)),
            ("nodes", self.nodes.clone()),
            ("cpus-per-task", number(self.cpus_per_task)),
            ("ntasks-per-node", number(self.ntasks_per_node)),
            ("nodelist", self.nodelist.clone()),
            ("job-name", self.job_name.clone()),
        ];
        let asked = asked.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let mut words: Vec<String> =
            asked.map(|(name, value)| format!("--{name}={value}")).collect();
        words.extend(self.of_job.words());
        if self.quiet {
            words.push("--quiet".to_owned());
        }
        let read = options::read_words(&words);
        read.map_err(|error| {
            Failure::usage(anyhow::Error::msg(crate::submission::parse_error::explain(&error)))
        })
    }
}

/// Runs a step; gives the largest exit code of its tasks.
///
/// # Errors
/// [`Failure`] when it does not fit the job, there is none for it, or a program cannot be started.
pub async fn run(args: &Args, server: &Server) -> Result<u8, Failure> {
    let around = run::environment_variables();
    let own = JobAllocation::around(&around)?;
    let mut wish = args.wish()?;
    components::refuse_components(&args.program, "srun")?;
    let component = match &args.het_group {
        Some(text) => Some(group::key(text, args.jobid.as_deref(), &around)?),
        None => None,
    };
    let ground = match (&args.jobid, own) {
        _ if component.is_some() => match component {
            Some(key) => Some(run::allocation_of(key, server).await?),
            None => None,
        },
        (None, own) => own,
        (Some(named), Some(own))
            if *named == own.key.to_string() || *named == own.key.job.to_string() =>
        {
            Some(own)
        }
        (Some(named), _) => {
            let key = named
                .parse::<JobKey>()
                .map_err(|error| Failure::usage(anyhow::anyhow!("--jobid={named}: {error}")))?;
            Some(run::allocation_of(key, server).await?)
        }
    };
    if let Some(ground) = ground {
        if args.of_job.test_only {
            return Err(test_only::refuse_for_step());
        }
        narrowed::check_memory(&args.of_job, &ground, &around)?;
        let nodelist = args.nodelist.as_deref();
        wish.nodelist = narrowed::nodes(&args.of_job, nodelist, &ground, server).await?;
        if !args.quiet {
            args.of_job.idle_in_a_job().iter().for_each(|idle| note(idle));
        }
        let place = StepPlacement::choose(&wish, &ground, 0);
        args.warn_of_singletons(place.map_or(0, |place| place.count()), &around);
        return run::in_job(&wish, &ground, around, server).await;
    }
    let options =
        args.options()?.over(environment::read_slurm_options(&around, SlurmCommand::Srun)?);
    args.warn_of_singletons(tasks_of(&options), &around);
    let (program, dialect, stays) = (&args.program, AllocDialect::Srun, false);
    let immediate = args.immediate.map(Duration::from_secs);
    let wanted = AllocationRequest { options: &options, program, dialect, immediate, stays };
    run::in_new_job(&wish, &wanted, around, server).await
}
