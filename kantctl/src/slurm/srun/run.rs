//! A step's tasks as processes: started together, waited for, told of signals, ended together where
//! that is wanted. Never outlives them.

use super::Args;
use super::place::{Place, Task};
use super::stream::{Input, Outputs, copy_input, label};
use crate::failure::Failure;
use crate::output::screen::note;
use crate::signals::Signals;
use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::io::{IsTerminal, PipeWriter};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Longer than this nobody waits: a number of that size is as good as never.
const WAIT_MAX_SECONDS: u64 = 1 << 32;

/// Between SIGTERM and SIGKILL for tasks that are to end.
const GRACE: Duration = Duration::from_secs(10);

/// Runs the tasks; gives the largest exit code, 128+N for signal N.
///
/// # Errors
/// [`Failure`] when a program or a file is missing.
pub async fn step(
    args: &Args,
    place: &Place,
    environment: BTreeMap<String, String>,
) -> Result<u8, Failure> {
    let (mut started, inputs) = start(args, place, environment)?;
    // Not sooner: tasks are born with the mask of signals that srun has at that moment.
    let mut signals = Signals::take()?;
    if !inputs.is_empty() {
        copy_input(inputs);
    }
    let pids: Vec<(u32, Pid)> = started
        .iter()
        .filter_map(|(task, child)| Some((*task, Pid::from_raw(i32::try_from(child.id()?).ok()?))))
        .collect();
    let mut streams = JoinSet::new();
    let width = place.count().saturating_sub(1).to_string().len();
    for (task, child) in &mut started {
        if let Some(output) = child.stdout.take() {
            streams.spawn(label(output, *task, width, false));
        }
        if let Some(error) = child.stderr.take() {
            streams.spawn(label(error, *task, width, true));
        }
    }
    let mut running = JoinSet::new();
    for (task, mut child) in started {
        running.spawn(async move { (task, child.wait().await) });
    }
    let code = wait(args, place, &mut running, pids, &mut signals).await;
    while streams.join_next().await.is_some() {}
    code
}

/// Tasks by their numbers, and where to write what they are to read.
type Started = (Vec<(u32, Child)>, Vec<PipeWriter>);

fn start(
    args: &Args,
    place: &Place,
    environment: BTreeMap<String, String>,
) -> Result<Started, Failure> {
    let here = std::env::current_dir().context("failed to find the current directory")?;
    let directory = args.chdir.as_ref().map_or_else(|| here.clone(), |dir| here.join(dir));
    let passed = match &args.export {
        Some(export) => export.apply(&environment),
        None => environment.clone(),
    };
    // A step is a step whatever is exported: who it is, is not the user's to leave out.
    let own = environment.iter().filter(|(name, _)| {
        ["SLURM_", "SLURMD_", "KANT_"].iter().any(|prefix| name.starts_with(prefix))
    });
    let mut common: BTreeMap<String, String> =
        passed.into_iter().chain(own.map(|(n, v)| (n.clone(), v.clone()))).collect();
    common.extend(place.rendezvous(&environment).into_iter().map(|(n, v)| (n.to_owned(), v)));
    let terminal = std::io::stdin().is_terminal();
    let mut outputs = Outputs::new(args, place, &directory);
    let (mut started, mut inputs) = (Vec::new(), Vec::new());
    let own = std::env::current_exe().context("failed to find this program's own file")?;
    for task in place.tasks() {
        let (output, error) = outputs.of(task)?;
        let (input, copied) = Input::of(args, place, task, &directory, terminal).open()?;
        inputs.extend(copied);
        let mut command = command(args, place, task, &own);
        command.current_dir(&directory).env_clear().envs(&common);
        command.envs(place.environment(task)).stdin(input).stdout(output).stderr(error);
        // Whatever srun does not get to do: none of them is left behind.
        command.kill_on_drop(true);
        let child = command.spawn();
        let program = args.program.first().map_or("", String::as_str);
        let failed = || format!("failed to start {program} on {}", place.here);
        started.push((task.rank, child.with_context(failed)?));
    }
    Ok((started, inputs))
}

/// A task: the program itself, or on another node what starts it there and stands for it here.
fn command(args: &Args, place: &Place, task: Task, own: &Path) -> Command {
    let node = place.node(task);
    if *node == place.here {
        let mut command = Command::new(args.program.first().map_or("", String::as_str));
        command.args(args.program.iter().skip(1));
        return command;
    }
    // Over there the node says what a program's place in the job is; in the step it is ours to say.
    let set = place.environment(task);
    let set = set.into_iter().map(|(name, value)| format!("{name}={value}"));
    let words: Vec<String> = ["exec".to_owned(), "env".to_owned()]
        .into_iter()
        .chain(set.map(|word| quoted(&word)))
        .chain(args.program.iter().map(|word| quoted(word)))
        .collect();
    let mut command = Command::new(own);
    command.arg("launch").arg(node.as_str()).arg(words.join(" "));
    command
}

/// A word that a shell reads as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

type Ended = (u32, std::io::Result<ExitStatus>);

async fn wait(
    args: &Args,
    place: &Place,
    running: &mut JoinSet<Ended>,
    mut pids: Vec<(u32, Pid)>,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let tasks = place.tasks();
    let node = |rank: u32| tasks.get(rank as usize).map_or(&place.here, |task| place.node(*task));
    let mut worst = 0;
    let mut stop: Option<Stop> = None;
    loop {
        tokio::select! {
            ended = running.join_next() => {
                let Some(ended) = ended else { return Ok(worst) };
                let (task, status) = ended.context("failed to wait for a task")?;
                let status = status.with_context(|| format!("failed to wait for task {task}"))?;
                pids.retain(|(other, _)| *other != task);
                let code = code(status);
                worst = worst.max(code);
                if code != 0 && !args.quiet {
                    let ending = format!(
                        "error: {}: task {task}: {}",
                        node(task),
                        told(status)
                    );
                    note(&ending);
                }
                let fails = code != 0 && args.kill_on_bad_exit.as_deref() == Some("1");
                stop = match (stop, args.wait) {
                    (Some(stop), _) => Some(stop),
                    (None, _) if fails => Some(Stop::at(Instant::now())),
                    (None, Some(seconds @ 1..)) => {
                        let patience = Duration::from_secs(seconds.min(WAIT_MAX_SECONDS));
                        Some(Stop::at(Instant::now() + patience))
                    }
                    (None, _) => None,
                };
            }
            signal = signals.next() => tell(&pids, signal),
            () = due(stop.as_ref()) => {
                if let Some(stop) = &mut stop {
                    tell(&pids, stop.signal);
                    *stop = Stop { at: Instant::now() + GRACE, signal: Signal::SIGKILL };
                }
            }
        }
    }
}

/// When the tasks that are left are ended, and how.
struct Stop {
    at: Instant,
    signal: Signal,
}

impl Stop {
    const fn at(at: Instant) -> Self {
        Self { at, signal: Signal::SIGTERM }
    }
}

async fn due(stop: Option<&Stop>) {
    match stop {
        Some(stop) => sleep_until(stop.at).await,
        None => std::future::pending().await,
    }
}

fn tell(pids: &[(u32, Pid)], signal: Signal) {
    for (_, pid) in pids {
        // One that has just ended hears nothing, which is as well.
        let _ = kill(*pid, signal);
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn told(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("Exited with exit code {code}"),
        (None, Some(signal)) => {
            let name = Signal::try_from(signal).map_or("a signal", Signal::as_str);
            format!("ended by {name}")
        }
        (None, None) => "ended".to_owned(),
    }
}
