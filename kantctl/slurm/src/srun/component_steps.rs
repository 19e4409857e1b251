//! `srun ./a : -n 8 ./b` in a heterogeneous job: one step per component, in parallel. Each step has
//! an srun process of its own, for the component of its position unless it names another.
//! Source: man srun and Slurm's guide to heterogeneous jobs.

use anyhow::Context;
use cli::failure::Failure;
use cli::output::screen::warn;
use cli::signals::Signals;
use cli::submission::components::SEPARATOR;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// Whether the arguments are several command lines separated by `:`, in a heterogeneous job.
#[must_use]
pub fn has_several_commands(words: &[OsString]) -> bool {
    split(words, &cli::verb::run::environment_variables()).is_some()
}

/// The command lines; `None`: there is only one.
fn split(words: &[OsString], around: &BTreeMap<String, String>) -> Option<Vec<Vec<OsString>>> {
    let (_, words) = words.split_first()?;
    let parts: Vec<&[OsString]> = words.split(|word| word == SEPARATOR).collect();
    if !around.contains_key("KANT_SET_SIZE") || parts.len() < 2 {
        return None;
    }
    let part = |(offset, words): (usize, &[OsString])| {
        // If the command line names another component after this option, the last option counts.
        let own = OsString::from(format!("--het-group={offset}"));
        std::iter::once(own).chain(words.iter().cloned()).collect()
    };
    Some(parts.into_iter().enumerate().map(part).collect())
}

/// Runs all command lines and returns the largest exit code.
///
/// # Errors
/// [`Failure`] when an srun process cannot be started.
pub async fn run(words: &[OsString]) -> Result<u8, Failure> {
    let parts = split(words, &cli::verb::run::environment_variables()).unwrap_or_default();
    let mut signals = Signals::block_and_watch()?;
    let own = std::env::current_exe().context("failed to find the path of srun's program")?;
    let mut running = JoinSet::new();
    let mut processes = Vec::new();
    for (place, part) in parts.into_iter().enumerate() {
        let mut command = Command::new(&own);
        command.arg0("srun").args(part);
        // Only the first reads the standard input.
        if place > 0 {
            command.stdin(Stdio::null());
        }
        // SAFETY: unblocking signals is a plain system call, and may be made between fork and exec.
        unsafe { command.pre_exec(cli::signals::unblock) };
        let child = match command.spawn().context("failed to start the srun of a component") {
            Ok(child) => child,
            Err(error) => {
                // The other steps would wait for this one, or run without it.
                forward_signal(&processes, Signal::SIGTERM);
                while running.join_next().await.is_some() {}
                return Err(error.into());
            }
        };
        processes.extend(child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw));
        running.spawn(wait_for_exit(child));
    }
    let mut worst = 0;
    loop {
        tokio::select! {
            ended = running.join_next() => match ended {
                None => return Ok(worst),
                Some(ended) => worst = worst.max(ended.unwrap_or(1)),
            },
            signal = signals.next() => forward_signal(&processes, signal),
        }
    }
}

/// Forwards a signal to processes that still run. A terminal's signals reach all of them directly.
fn forward_signal(processes: &[Pid], signal: Signal) {
    if matches!(signal, Signal::SIGINT | Signal::SIGQUIT) {
        return;
    }
    processes.iter().for_each(|process| _ = kill(*process, signal));
}

async fn wait_for_exit(mut child: Child) -> u8 {
    let code = |status: ExitStatus| {
        let signal = status.signal().map(|signal| signal.saturating_add(128));
        u8::try_from(status.code().or(signal).unwrap_or(1)).unwrap_or(1)
    };
    match child.wait().await {
        Ok(status) => code(status),
        Err(error) => {
            warn(&format!("failed to wait for the srun of a component: {error}"));
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::srun::Args;
    use clap::{CommandFactory, FromArgMatches};

    #[test]
    fn each_command_line_runs_in_the_component_of_its_position() {
        let words = |text: &str| -> Vec<OsString> { text.split(' ').map(OsString::from).collect() };
        let around = BTreeMap::from([("KANT_SET_SIZE".to_owned(), "3".to_owned())]);
        let parts = split(&words("srun ./a x : -n 8 ./b : --het-group=0 ./c"), &around).unwrap();
        let expected =
            ["--het-group=0 ./a x", "--het-group=1 -n 8 ./b", "--het-group=2 --het-group=0 ./c"];
        assert_eq!(parts, expected.map(words));
        let read = Args::command().args_override_self(true);
        let read =
            read.try_get_matches_from(words("srun --het-group=2 --het-group=0 ./c")).unwrap();
        let read = Args::from_arg_matches(&read).unwrap();
        assert_eq!(read.het_group.as_deref(), Some("0"), "the last option counts");
        assert_eq!(split(&words("srun ./a x"), &around), None);
        assert_eq!(
            split(&words("srun ./a : b"), &BTreeMap::new()),
            None,
            "outside a heterogeneous job a colon is an ordinary argument"
        );
    }
}
