//! `kantctl alloc`: nodes allocated for a shell or command that runs here and starts programs on
//! them. They are released when it ends, unless --no-shell is given.

use super::run::environment_variables;
use crate::failure::Failure;
use crate::output::screen::note;
use crate::server::{POLL_SECONDS, Server};
use crate::signals::{self, Signals};
use crate::step::allocate::{self, AllocDialect, AllocatedJob, AllocationRequest};
use crate::submission::options::Options;
use crate::submission::{components, environment};
use anyhow::Context;
use common::id::JobKey;
use common::job::{Attribute, Phase};
use common::time::Span;
use common::wire::api::JobList;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::process::{Child, Command};

const EXAMPLES: &str = "\
Examples:
  kantctl alloc --gpus 1
  kantctl alloc -N 2 --time 30 kantctl run --label hostname
  kantctl alloc --no-shell --time 2h

The shell runs here, with the job's environment: `kantctl run` in it starts programs on the job's
nodes. When the shell ends, the nodes are released, and kantctl exits with the shell's exit code.
With --no-shell the nodes stay allocated until `kantctl cancel` or the time limit; `kantctl run --in
JOB` starts programs on them.";

/// How long a controller may be unreachable while the shell runs.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);
/// The pause between two requests where the controller answers early.
const LOOK: Duration = Duration::from_secs(1);

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub options: Options,
    /// Start no shell: the nodes stay allocated until the job is cancelled
    #[arg(long, help_heading = EXECUTION)]
    pub no_shell: bool,
    /// Give up if the job has not started within TIME [without TIME: 1s]
    #[arg(short = 'I', long, value_name = "TIME", num_args = 0..=1, require_equals = true,
          default_missing_value = "1s", help_heading = EXECUTION)]
    pub immediate: Option<Span>,
    /// Command to run here while the nodes are allocated [default: your shell]
    #[arg(value_name = "COMMAND", num_args = 0.., trailing_var_arg = true)]
    pub command: Vec<String>,
}

const EXECUTION: &str = "Execution";

/// Allocates nodes while a shell runs.
///
/// # Errors
/// [`Failure`] when there are no nodes, or the shell cannot be started.
pub async fn run(args: &Args, server: &Server) -> Result<u8, Failure> {
    let around = environment_variables();
    let options = args.options.clone().merged_over(environment::read_kantctl_options(&around)?);
    run_as(args, &options, AllocDialect::Kant, server).await
}

/// The same, with the messages of this command line.
///
/// # Errors
/// As [`run`].
pub async fn run_as(
    args: &Args,
    options: &Options,
    dialect: AllocDialect,
    server: &Server,
) -> Result<u8, Failure> {
    components::refuse_components(&args.command, "alloc")?;
    let command = if args.command.is_empty() { vec![shell()] } else { args.command.clone() };
    let immediate = args.immediate.map(|span| Duration::from_millis(span.0));
    let (program, stays) = (&command[..], args.no_shell);
    let wanted = AllocationRequest { options, program, dialect, immediate, stays };
    if options.has(Attribute::TestOnly) {
        return allocate::test_only(&wanted, server).await;
    }
    let mut signals = Signals::block_and_watch()?;
    let held = allocate::allocate(&wanted, server, &mut signals).await?;
    let key = held.job.key;
    if dialect == AllocDialect::Kant && !options.has(Attribute::Quiet) {
        let nodes = common::hostlist::compress(held.allocation.nodes.iter().map(|node| &node.name));
        note(&format!("job {key} holds {nodes}"));
    }
    if stays {
        return Ok(crate::failure::OK);
    }
    let ended = run_shell(&held, &command, server, &mut signals).await;
    let code = ended.as_ref().map_or_else(|failure| failure.kind.exit_code(), |code| *code);
    if !options.has(Attribute::Quiet) {
        match dialect {
            AllocDialect::Salloc => note(&format!("Relinquishing job allocation {key}")),
            AllocDialect::Kant | AllocDialect::Srun => {
                note(&format!("releasing the nodes of job {key}"))
            }
        }
    }
    allocate::finish(server, key, code).await;
    ended
}

/// The user's shell.
fn shell() -> String {
    let set = std::env::var("SHELL").ok().filter(|shell| shell.starts_with('/'));
    let known = || {
        let user = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten();
        user.and_then(|user| user.shell.to_str().map(str::to_owned))
    };
    set.or_else(known).filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".to_owned())
}

async fn run_shell(
    held: &AllocatedJob,
    words: &[String],
    server: &Server,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let program = words.first().map(String::as_str).unwrap_or_default();
    let mut command = Command::new(program);
    command.args(words.iter().skip(1)).envs(held.allocation.environment(&held.job));
    // Inside another job these name that job's node, which is not one of this job's.
    for name in ["KANT_NODE", "SLURMD_NODENAME", "SLURM_NODEID", "KANT_NODE_RANK"] {
        command.env_remove(name);
    }
    // SAFETY: unblocking signals is a plain system call, which is allowed between fork and exec.
    unsafe { command.pre_exec(signals::unblock) };
    let mut child = command.spawn().with_context(|| format!("failed to start {program}"))?;
    let revocation = wait_until_revoked(held.job.key, server);
    tokio::pin!(revocation);
    let mut is_revoked = false;
    loop {
        tokio::select! {
            status = child.wait() => {
                return Ok(code(status.context("failed to wait for the shell")?));
            }
            signal = signals.next() => forward_signal(&child, signal),
            () = &mut revocation, if !is_revoked => {
                is_revoked = true;
                note(&format!("Job allocation {} has been revoked.", held.job.key));
                signal_shell(&child, Signal::SIGHUP);
            }
        }
    }
}

/// Returns when the job has been ended by something other than this command.
async fn wait_until_revoked(key: JobKey, server: &Server) {
    loop {
        let path = format!("/v1/jobs/{key}/wait?seconds={POLL_SECONDS}");
        let list = server.get_retrying::<JobList>(&path, PATIENCE).await;
        let Ok(list) = list else { return std::future::pending().await };
        if list.jobs.iter().all(|job| matches!(job.phase, Phase::Completing | Phase::Done)) {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// SIGINT and SIGQUIT are not forwarded: a terminal sends them to the shell directly.
fn forward_signal(child: &Child, signal: Signal) {
    if !matches!(signal, Signal::SIGINT | Signal::SIGQUIT) {
        signal_shell(child, signal);
    }
}

fn signal_shell(child: &Child, signal: Signal) {
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()) {
        // A shell that has just ended needs no signal.
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}
