//! `srun`: runs the tasks of a step in the current job, in another running job (--jobid), or in a
//! new job, as `kantctl run` does.
//! Source: man srun.

mod accepted_options;
pub mod component_steps;
mod het_group;
mod job_options;
mod mpi_warning;
mod step_nodes;

use super::shared_options::Common;
use accepted_options::AcceptedOptions;
use cli::failure::Failure;
use cli::output::screen::note;
use cli::server::Server;
use cli::step::allocate::{AllocDialect, AllocationRequest};
use cli::step::binding::{CpuBind, GpuBind};
use cli::step::job_allocation::JobAllocation;
use cli::step::placement::StepPlacement;
use cli::step::step_options::StepOptions;
use cli::submission::components;
use cli::submission::environment;
use cli::submission::export::Export;
use cli::submission::options::{self, Options};
use cli::submission::test_only;
use cli::verb::run;
use common::id::JobKey;
use common::job::asked::tasks_of;
use common::job::attributes::SlurmReader;
use job_options::JobOptions;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Run the tasks of a step in a job or in a new job, as Slurm's srun does
#[derive(clap::Parser, Debug)]
#[command(name = "srun", disable_help_flag = true, disable_version_flag = true)]
#[command(override_usage = "srun [OPTIONS] PROGRAM [ARGUMENT]...")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Number of tasks [default: the job's]
    #[arg(short = 'n', long = "ntasks", value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub tasks: Option<u32>,
    /// Number of nodes
    #[arg(short = 'N', long, value_name = "COUNT")]
    pub nodes: Option<String>,
    /// CPUs per task; tasks share the job's CPUs
    #[arg(short = 'c', long, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub cpus_per_task: Option<u32>,
    /// Tasks per node
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub ntasks_per_node: Option<u32>,
    /// Allow more tasks than CPUs
    #[arg(short = 'O', long)]
    pub overcommit: bool,
    /// Output file, with %j %J %s %t %N %n and the patterns of sbatch, or `none` [default: srun's
    /// own output]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<String>,
    /// Error file [default: the output file]
    #[arg(short = 'e', long, value_name = "FILE")]
    pub error: Option<String>,
    /// Input: all (every task reads srun's input), none, the number of one task, or a file
    #[arg(short = 'i', long, value_name = "FILE")]
    pub input: Option<String>,
    /// Append to or truncate existing output files [default: truncate]
    #[arg(long, value_name = "MODE", value_parser = ["append", "truncate"])]
    pub open_mode: Option<String>,
    /// Prefix each line with the task number
    #[arg(short = 'l', long)]
    pub label: bool,
    /// Do not buffer the output (always)
    #[arg(short = 'u', long)]
    pub unbuffered: bool,
    /// End all tasks if one fails
    #[arg(short = 'K', long, value_name = "0|1", num_args = 0..=1, require_equals = true,
          default_missing_value = "1", value_parser = ["0", "1"])]
    pub kill_on_bad_exit: Option<String>,
    /// End the other tasks SECONDS seconds after the first task has ended; 0: never
    #[arg(short = 'W', long, value_name = "SECONDS")]
    pub wait: Option<u64>,
    /// Working directory of the tasks [default: the current directory]
    #[arg(short = 'D', long, value_name = "DIRECTORY")]
    pub chdir: Option<PathBuf>,
    /// Environment of the tasks: ALL, NONE, or NAME,NAME=VALUE [default: ALL]
    #[arg(long, value_name = "NAMES")]
    pub export: Option<Export>,
    /// Run task 0 on a pseudo-terminal connected to this terminal
    #[arg(long)]
    pub pty: bool,
    /// Run in this running job [default: the current job, otherwise a new job]
    #[arg(long, value_name = "JOB")]
    pub jobid: Option<String>,
    /// Run in this component of the current job or of --jobid [default: the first]
    #[arg(long, visible_alias = "pack-group", value_name = "NUMBER")]
    pub het_group: Option<String>,
    /// Give up if a new job has not started within SECONDS seconds [without SECONDS: 1]
    #[arg(short = 'I', long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "1")]
    pub immediate: Option<u64>,
    /// MPI support: none; start Open MPI and MPICH programs with mpirun or mpiexec
    #[arg(long, value_name = "none", value_parser = parse_mpi_none)]
    pub mpi: Option<String>,
    /// Name of the step
    #[arg(short = 'J', long, value_name = "NAME")]
    pub job_name: Option<String>,
    /// Run on these nodes
    #[arg(short = 'w', long, value_name = "NODES")]
    pub nodelist: Option<String>,
    /// Print errors only
    #[arg(short = 'Q', long)]
    pub quiet: bool,
    /// Bind tasks to CPUs: none (tasks share the step's CPUs), cores, map_cpu:0,1
    #[arg(long, value_name = "KIND")]
    pub cpu_bind: Option<String>,
    /// GPUs that each task sees: none (all GPUs of the step), single:N, per_task:N, map_gpu:0,1
    #[arg(long, value_name = "KIND")]
    pub gpu_bind: Option<String>,
    /// Number of tasks that share one GPU
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub ntasks_per_gpu: Option<u32>,
    /// Options of a new job
    #[command(flatten)]
    pub job_options: JobOptions,
    /// Options about the use of the job's allocation
    #[command(flatten)]
    pub accepted: AcceptedOptions,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, num_args = 1.., trailing_var_arg = true)]
    pub program: Vec<String>,
}

/// Accepts `none` only: every other kind needs a server process on the nodes.
fn parse_mpi_none(kind: &str) -> Result<String, String> {
    let instead = "start MPI programs with mpirun (Open MPI) or mpiexec (MPICH), which use the \
                   job's nodes";
    if kind == "none" { Ok(kind.to_owned()) } else { Err(format!("not supported: {instead}")) }
}

impl Args {
    fn to_step_options(&self) -> Result<StepOptions, Failure> {
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
            time: self.job_options.time_of_step()?,
            quiet: self.quiet,
            pty: self.pty,
            chdir: self.chdir.clone(),
            export: self.export.clone(),
            gpus: self.job_options.gpus_of_step()?,
            exclusive: (accepted.exact || self.job_options.exclusive.is_some())
                && !accepted.overlap,
            cpu_bind: cpu_bind.map_err(Failure::usage)?.unwrap_or_default(),
            gpu_bind: bound,
        })
    }

    /// Warns that tasks of an MPI program would not form one MPI job, unless --mpi=none is given.
    fn warn_about_singletons(&self, tasks: u32, around: &BTreeMap<String, String>) {
        if self.quiet || self.mpi.is_some() || self.job_options.test_only {
            return;
        }
        let search = around.get("PATH").map(String::as_str).unwrap_or_default();
        let program = self.program.first().map(String::as_str).unwrap_or_default();
        mpi_warning::warn(program, tasks, search);
    }

    /// The GPU binding: --gpu-bind, or the sharing that --ntasks-per-gpu asks for.
    fn gpu_bind(&self) -> Result<GpuBind, Failure> {
        let shared = self.ntasks_per_gpu.map(GpuBind::Single).unwrap_or_default();
        let bind = self.gpu_bind.as_deref().map(GpuBind::read).transpose();
        Ok(bind.map_err(Failure::usage)?.unwrap_or(shared))
    }

    /// The options of a new job, as for sbatch.
    fn to_job_options(&self) -> Result<Options, Failure> {
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
        words.extend(self.job_options.words());
        if self.quiet {
            words.push("--quiet".to_owned());
        }
        let read = options::read_words(&words);
        read.map_err(|error| {
            Failure::usage(anyhow::Error::msg(cli::submission::parse_error::explain(&error)))
        })
    }
}

/// Runs a step and returns the largest exit code of its tasks.
///
/// # Errors
/// [`Failure`] when the step does not fit the job, there is no such job, or the program cannot be
/// started.
pub async fn run(args: &Args, server: &Server) -> Result<u8, Failure> {
    let around = run::environment_variables();
    let own = JobAllocation::from_environment(&around)?;
    let mut wish = args.to_step_options()?;
    components::refuse_components(&args.program, "srun")?;
    let component = match &args.het_group {
        Some(text) => Some(het_group::key(text, args.jobid.as_deref(), &around)?),
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
        if args.job_options.test_only {
            return Err(test_only::refuse_for_step());
        }
        step_nodes::check_memory(&args.job_options, &ground, &around)?;
        let nodelist = args.nodelist.as_deref();
        wish.nodelist = step_nodes::select(&args.job_options, nodelist, &ground, server).await?;
        if !args.quiet {
            args.job_options.ignored_in_a_job().iter().for_each(|text| note(text));
        }
        let place = StepPlacement::choose(&wish, &ground, 0);
        args.warn_about_singletons(place.map_or(0, |place| place.count()), &around);
        return run::run_in_job(&wish, &ground, around, server).await;
    }
    let options = args
        .to_job_options()?
        .merged_over(environment::read_slurm_options(&around, SlurmReader::Srun)?);
    args.warn_about_singletons(tasks_of(&options), &around);
    let (program, dialect, stays) = (&args.program, AllocDialect::Srun, false);
    let immediate = args.immediate.map(Duration::from_secs);
    let wanted = AllocationRequest { options: &options, program, dialect, immediate, stays };
    run::run_in_new_job(&wish, &wanted, around, server).await
}
