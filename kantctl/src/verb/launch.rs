//! `kantctl launch`: starts a program on a node of a job that runs, as `ssh` would: the same words,
//! its output here, its exit code. What starters of MPI programs reach a job's other nodes with.
//! Never reads standard input, and never gives a program more than the job has.

use super::wait::PATIENCE;
use crate::failure::{Failure, Kind};
use crate::output::Screen;
use crate::output::screen::note;
use crate::server::{Again, POLL_SECONDS, Server, encoded};
use crate::signals::Signals;
use crate::submission::shell::Shell;
use anyhow::Context;
use axum::http::HeaderMap;
use common::id::{Attempt, JobKey, TaskNumber};
use common::job::{ExitStatus, SignalNumber};
use common::wire::api::{LaunchAnswer, LaunchRequest, STDOUT_BYTES, SignalRequest, TASK_STATE};
use common::wire::node::TaskState;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  kantctl launch g-002 nvidia-smi
  kantctl launch --job 42 g-001 'ps -u $USER; ls /tmp'

In a job, mpirun (Open MPI) and mpiexec (MPICH) start their programs on its other nodes with it: each
job's environment says so, and names its nodes and how many tasks each has.

The words are joined and read by your shell, as ssh does it: quote what it should not read here. The
program runs as a part of the job: as its user, with its GPUs and limits there, in its /tmp, with the
environment of who called; it starts in the same directory, or in /tmp if the node has none of that
name. It ends with the job, at the latest. Its standard input is empty. kantctl ends when it does, and
exits with its code, 128+N for signal N. Signals to kantctl are passed on to it, but for SIGKILL, which
ends kantctl alone. Only a job's owner may start programs in it.";

/// How long a node may be out of contact while a program runs there.
const NODE_PATIENCE: Duration = Duration::from_secs(60);
/// Between two questions to a node that is out of contact.
const LOOK: Duration = Duration::from_secs(1);
/// Shells whose words starters of MPI programs know; any other's user gets the first.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ksh", "zsh", "csh", "tcsh"];

/// Arguments of `launch`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The job, which must run [default: the one this runs in]
    #[arg(long, value_name = "JOB")]
    pub job: Option<JobKey>,
    /// For who takes kantctl for ssh; no effect
    #[arg(short = 'x', hide = true)]
    pub x: bool,
    /// One of the job's nodes, by name or address
    #[arg(value_name = "NODE")]
    pub node: String,
    /// What to run
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Starts a program on a node and stays with it.
///
/// # Errors
/// [`Failure`] when it cannot be started, or what became of it cannot be learnt.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let shell = Shell::look()?;
    let (key, attempt) = job(args.job, &shell.environment)?;
    let work_dir = shell.directory.to_str().map(str::to_owned).unwrap_or_else(|| "/tmp".to_owned());
    let task = TaskNumber(number()?);
    let program = vec![login_shell(), "-c".to_owned(), args.command.join(" ")];
    let environment = shell.environment;
    let node = args.node.clone();
    let manner = common::wire::node::Manner::default();
    let request = LaunchRequest { task, node, attempt, program, environment, work_dir, manner };
    let path = format!("/v1/jobs/{key}/tasks");
    // Before it runs: a signal that comes while it starts is for it.
    let mut signals = Signals::take()?;
    let (place, early) = start(&path, &request, server, &mut signals).await?;
    let mut watch = Watch { path: format!("{path}/{task}"), place, taken: [0, 0] };
    if let Some(signal) = early {
        watch.pass_on(signal, server).await;
    }
    loop {
        let state = tokio::select! {
            state = watch.more(server, screen) => state?,
            signal = signals.next() => {
                watch.pass_on(signal, server).await;
                None
            }
        };
        match state {
            Some(TaskState::Ended(exit)) => return Ok(code(exit)),
            Some(TaskState::Failed(why)) => return Err(Failure::message(why)),
            Some(TaskState::Running) | None => {}
        }
    }
}

/// Starts it; also returns the signal that came meanwhile. At the second one nobody wants to wait.
async fn start(
    path: &str,
    request: &LaunchRequest,
    server: &Server,
    signals: &mut Signals,
) -> Result<(LaunchAnswer, Option<Signal>), Failure> {
    let mut started = std::pin::pin!(server.post(path, request, Again::IfUnanswered));
    let mut early = None;
    loop {
        tokio::select! {
            place = &mut started => return Ok((place?, early)),
            signal = signals.next() => {
                if early.replace(signal).is_some() {
                    let text = format!("gave up at {signal}: it may have started");
                    return Err(Failure::message(text));
                }
            }
        }
    }
}

/// Which job, and, from inside of it, in which attempt.
fn job(
    named: Option<JobKey>,
    environment: &BTreeMap<String, String>,
) -> Result<(JobKey, Option<Attempt>), Failure> {
    if let Some(key) = named {
        return Ok((key, None));
    }
    let key = environment.get("KANT_JOB_ID").and_then(|key| key.parse().ok());
    let key = key.ok_or_else(|| {
        Failure::usage(anyhow::anyhow!("this runs in no job: name one with --job"))
    })?;
    let attempt = environment.get("KANT_JOB_ATTEMPT").and_then(|attempt| attempt.parse().ok());
    Ok((key, attempt.map(Attempt)))
}

/// The user's, as ssh takes it: Open MPI writes its command line for that one.
fn login_shell() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten();
    let shell = user.map(|user| user.shell).unwrap_or_default();
    let is_known = shell.file_name().is_some_and(|name| SHELLS.iter().any(|known| name == *known));
    let shell = shell.to_str().filter(|path| is_known && path.starts_with('/'));
    shell.unwrap_or("/bin/sh").to_owned()
}

/// That no other program in the job has.
fn number() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes))
        .context("failed to read /dev/urandom")?;
    // As large as every JSON reader's numbers.
    Ok(u64::from_ne_bytes(bytes) >> 11)
}

/// As a shell would put it.
fn code(exit: ExitStatus) -> u8 {
    exit.signal.map_or(exit.code, |signal| 128_u8.saturating_add(signal))
}

/// A program that was started, and what of its output was shown.
struct Watch {
    path: String,
    place: LaunchAnswer,
    taken: [u64; 2],
}

impl Watch {
    /// Shows what it wrote since; its state, unless there may be more to show first.
    async fn more(
        &mut self,
        server: &Server,
        screen: &Screen,
    ) -> Result<Option<TaskState>, Failure> {
        let (headers, bytes) = self.ask(server).await?;
        let state = state(&headers)?;
        let of_stdout = header(&headers, STDOUT_BYTES).and_then(|text| text.parse().ok());
        let (stdout, stderr) = bytes.split_at(of_stdout.unwrap_or(0).min(bytes.len()));
        self.taken[0] += stdout.len() as u64;
        self.taken[1] += stderr.len() as u64;
        screen.bytes(stdout)?;
        // Nobody is left to tell when stderr is gone.
        let _ = std::io::stderr().lock().write_all(stderr);
        Ok(bytes.is_empty().then_some(state))
    }

    /// As ssh does with a terminal. One that does not get there is said, and no more.
    async fn pass_on(&self, signal: Signal, server: &Server) {
        let number = u8::try_from(signal as i32).unwrap_or_default();
        let request = SignalRequest { place: self.place.clone(), signal: SignalNumber(number) };
        let path = format!("{}/signal", self.path);
        let told = server.post::<_, LaunchAnswer>(&path, &request, Again::IfUnsent).await;
        if let Err(failure) = told {
            note(&failure.error.to_string());
        }
    }

    /// Again for a while when the node is out of contact, as it is when kantd starts anew.
    async fn ask(&self, server: &Server) -> Result<(HeaderMap, axum::body::Bytes), Failure> {
        let ([stdout, stderr], LaunchAnswer { node, attempt }) = (self.taken, &self.place);
        let path = format!(
            "{}?node={}&attempt={attempt}&stdout_from={stdout}&stderr_from={stderr}\
             &wait_seconds={POLL_SECONDS}",
            self.path,
            encoded(node.as_str())
        );
        let begun = Instant::now();
        loop {
            match server.get_bytes_for(&path, PATIENCE).await {
                Err(failure) if failure.is_silent_node() && begun.elapsed() < NODE_PATIENCE => {
                    tokio::time::sleep(LOOK).await;
                }
                answer => return answer,
            }
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn state(headers: &HeaderMap) -> Result<TaskState, Failure> {
    let state = header(headers, TASK_STATE).and_then(|text| serde_json::from_str(text).ok());
    state.ok_or_else(|| {
        let text = "failed to understand the controller's answer: is it of the same version?";
        Failure::new(Kind::Refused, anyhow::Error::msg(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn inside_a_job_it_is_that_attempt_of_it_and_outside_one_must_be_named() {
        let inside = environment(&[("KANT_JOB_ID", "42_7"), ("KANT_JOB_ATTEMPT", "3")]);
        let (key, attempt) = job(None, &inside).unwrap();
        assert_eq!((key.to_string().as_str(), attempt), ("42_7", Some(Attempt(3))));
        let other = job(Some("9".parse().unwrap()), &inside).unwrap();
        assert_eq!(other, ("9".parse().unwrap(), None));
        assert!(job(None, &environment(&[])).unwrap_err().to_string().contains("--job"));
    }

    #[test]
    fn its_exit_code_is_the_programs() {
        assert_eq!(code(ExitStatus { code: 3, signal: None }), 3);
        assert_eq!(code(ExitStatus { code: 0, signal: Some(15) }), 143);
    }

    #[test]
    fn two_programs_have_two_numbers() {
        assert_ne!(number().unwrap(), number().unwrap());
    }
}
