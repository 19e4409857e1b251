//! `kantctl run`: runs a program on newly allocated nodes, with its input and output here. Inside a
//! job, or with --in, it runs on that job's nodes. A job that it created ends with it.

use crate::failure::Failure;
use crate::server::Server;
use crate::signals::Signals;
use crate::step::allocate::{self, AllocDialect, AllocatedJob, AllocationRequest};
use crate::step::client::{self, Step};
use crate::step::current_size;
use crate::step::job_allocation::JobAllocation;
use crate::step::lease_renewer::LeaseRenewer;
use crate::step::ledger_client;
use crate::step::placement::StepPlacement;
use crate::step::step_options::StepOptions;
use crate::submission::options::Options;
use crate::submission::{components, environment, test_only};
use anyhow::Context;
use common::id::JobKey;
use common::job::attributes::TimeLimit;
use common::job::{Attribute, OpenMode, Phase};
use common::time::Span;
use common::wire::api::JobList;
use common::wire::node::StepGpus;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  kantctl run hostname
  kantctl run -N 2 --ntasks-per-node 1 --label hostname
  kantctl run --gpus 1 --time 30 nvidia-smi
  kantctl run --pty bash
  kantctl run --in 42 --pty bash
  echo hello | kantctl run -n 2 cat

It requests nodes as `kantctl submit` does, prints why it waits, runs the program once per task
(--ntasks), and releases the nodes. Output of tasks is printed here; your input goes to all of them.
The exit code is the largest of the tasks', 128+N for signal N.

Ctrl-C prints the state of the tasks; twice within a second, it ends them. Other signals are
forwarded. The job ends with kantctl: at once when its terminal is lost, within a minute if kantctl
was killed.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub options: Options,
    /// Prefix each line of output with the task's number
    #[arg(short = 'l', long, help_heading = EXECUTION)]
    pub label: bool,
    /// Run the program on a pseudo-terminal, connected to this one
    #[arg(long, help_heading = EXECUTION)]
    pub pty: bool,
    /// End all tasks when one fails
    #[arg(short = 'K', long, help_heading = EXECUTION)]
    pub kill_on_bad_exit: bool,
    /// Give up if the job has not started within TIME [without TIME: 1s]
    #[arg(short = 'I', long, value_name = "TIME", num_args = 0..=1, require_equals = true,
          default_missing_value = "1s", help_heading = EXECUTION)]
    pub immediate: Option<Span>,
    /// Run on the nodes of this job, which must be yours and running
    #[arg(long = "in", value_name = "JOB", help_heading = EXECUTION)]
    pub in_job: Option<JobKey>,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, num_args = 1.., trailing_var_arg = true)]
    pub program: Vec<String>,
}

const EXECUTION: &str = "Execution";

impl Args {
    fn step_options(&self, options: &Options) -> StepOptions {
        let limit: Option<TimeLimit> = options.get(Attribute::Time);
        StepOptions {
            program: self.program.clone(),
            name: options.get(Attribute::JobName),
            // With a range, the step has as many tasks as its job.
            tasks: options.tasks().filter(|tasks| tasks.least.is_none()).map(|tasks| tasks.most.0),
            nodes: options.text(Attribute::Nodes),
            cpus_per_task: options.get(Attribute::CpusPerTask),
            ntasks_per_node: options.get(Attribute::NtasksPerNode),
            nodelist: options.text(Attribute::Nodelist),
            output: options.get(Attribute::Output),
            error: options.get(Attribute::Error),
            input: options.get(Attribute::Input),
            append: options.get(Attribute::OpenMode) == Some(OpenMode::Append),
            label: self.label,
            kill_on_bad_exit: self.kill_on_bad_exit,
            time: limit.and_then(|limit| limit.0).filter(|limit| limit.0 > 0),
            quiet: options.has(Attribute::Quiet),
            pty: self.pty,
            chdir: options.text(Attribute::Chdir).map(PathBuf::from),
            export: options.export(),
            ..StepOptions::default()
        }
    }
}

/// Runs a program, and waits for it.
///
/// # Errors
/// [`Failure`] when there are no nodes for it, or it cannot be started.
pub async fn run(args: &Args, server: &Server) -> Result<u8, Failure> {
    components::refuse_components(&args.program, "run")?;
    let around = environment_variables();
    let allocation = match args.in_job {
        Some(key) => Some(allocation_of(key, server).await?),
        None => JobAllocation::from_environment(&around)?,
    };
    match allocation {
        Some(_) if args.options.has(Attribute::TestOnly) => Err(test_only::refuse_for_step()),
        Some(allocation) => {
            run_in_job(&args.step_options(&args.options), &allocation, around, server).await
        }
        None => {
            let options =
                args.options.clone().merged_over(environment::read_kantctl_options(&around)?);
            let step_options = args.step_options(&options);
            let immediate = args.immediate.map(|span| Duration::from_millis(span.0));
            let program = &args.program;
            let (dialect, stays, options) = (AllocDialect::Kant, false, &options);
            let wanted = AllocationRequest { options, program, dialect, immediate, stays };
            run_in_new_job(&step_options, &wanted, around, server).await
        }
    }
}

/// The environment variables that are valid text.
#[must_use]
pub fn environment_variables() -> BTreeMap<String, String> {
    let all = std::env::vars_os();
    let all =
        all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    current_size::apply(all.collect())
}

/// The allocation of a running job.
///
/// # Errors
/// [`Failure`] when the job is unknown, or not running.
pub async fn allocation_of(key: JobKey, server: &Server) -> Result<JobAllocation, Failure> {
    let list: JobList = server.get(&format!("/v1/jobs/{key}")).await?;
    // A task of an array has a plain number, too.
    let mut jobs = list.jobs.into_iter();
    let job = jobs.next().filter(|_| jobs.next().is_none());
    let job = job.filter(|job| matches!(job.phase, Phase::Starting | Phase::Running));
    let allocation = job.as_ref().and_then(JobAllocation::of);
    allocation.ok_or_else(|| {
        Failure::from_message(format!("job {key} is not running"))
            .with_hint(format!("`kantctl explain {key}` shows its state"))
    })
}

/// Runs a step in a running job.
///
/// # Errors
/// As [`run`].
pub async fn run_in_job(
    step_options: &StepOptions,
    allocation: &JobAllocation,
    environment: BTreeMap<String, String>,
    server: &Server,
) -> Result<u8, Failure> {
    // The process id as a number that no other step has, where no node keeps a ledger of steps.
    let placement = StepPlacement::choose(step_options, allocation, std::process::id())?;
    let mut signals = Signals::block_and_watch()?;
    let lease_renewer = LeaseRenewer::start(server, None);
    let cpus_each = step_options.cpus_per_task.or(allocation.cpus_per_task).unwrap_or(1);
    run_step(step_options, placement, cpus_each, environment, server, &lease_renewer, &mut signals)
        .await
}

/// Runs a step in a new job.
///
/// # Errors
/// As [`run`].
pub async fn run_in_new_job(
    step_options: &StepOptions,
    wanted: &AllocationRequest<'_>,
    environment: BTreeMap<String, String>,
    server: &Server,
) -> Result<u8, Failure> {
    if wanted.options.has(Attribute::TestOnly) {
        return allocate::test_only(wanted, server).await;
    }
    // Signals are caught first, so that one that arrives during the start is forwarded.
    let mut signals = Signals::block_and_watch()?;
    let held = allocate::allocate(wanted, server, &mut signals).await?;
    let AllocatedJob { job, allocation, lease_renewer } = &held;
    // The job was made for this step, which gets all of it.
    let gpus = StepGpus::All;
    let (exclusive, nodelist, nodes, time) = (false, None, None, None);
    let whole = StepOptions { gpus, exclusive, nodelist, nodes, time, ..step_options.clone() };
    let ended = match StepPlacement::choose(&whole, allocation, 0) {
        Ok(placement) => {
            let cpus_each = allocation.cpus_per_task.unwrap_or(1);
            run_step(&whole, placement, cpus_each, environment, server, lease_renewer, &mut signals)
                .await
        }
        Err(failure) => Err(failure),
    };
    let code = ended.as_ref().map_or_else(|failure| failure.kind.exit_code(), |code| *code);
    allocate::finish(server, job.key, code).await;
    ended
}

async fn run_step(
    step_options: &StepOptions,
    mut placement: StepPlacement,
    cpus_each: u32,
    environment: BTreeMap<String, String>,
    server: &Server,
    lease_renewer: &LeaseRenewer,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let directory = std::env::current_dir().context("failed to find the current directory")?;
    let is_watched = std::io::stdin().is_terminal() && !step_options.pty;
    let registered = ledger_client::register_step(step_options, &placement, cpus_each, server);
    let view = tokio::select! {
        view = registered => view?,
        signal = allocate::ending_signal(signals) => {
            return Err(Failure::from_message(format!("gave up starting the step after {signal}")));
        }
    };
    let number = view.as_ref().map(|view| view.number);
    placement.step = number.unwrap_or(placement.step);
    if let Some(view) = &view {
        placement.apply_ledger_shares(&view.shares);
    }
    let (key, placement) = (placement.key, &placement);
    let controller = Arc::new(server.clone());
    let step = Step {
        options: step_options,
        placement,
        environment,
        directory,
        server: controller,
        lease_renewer,
        view,
        cpus_each,
        is_watched,
    };
    let ended = client::run(step, signals).await;
    if let Some(number) = number {
        let code = ended.as_ref().map_or_else(|failure| failure.kind.exit_code(), |code| *code);
        ledger_client::report_step_end(server, key, number, allocate::exit_status_of(code)).await;
    }
    ended
}
