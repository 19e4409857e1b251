//! `kantctl launch`: starts a program on a node of a running job, with the command line, output and
//! exit code of `ssh`, so that MPI launchers can use it to reach a job's other nodes. The program
//! runs within the job's resources, without standard input.

use super::wait::PATIENCE;
use crate::failure::Failure;
use crate::output::Screen;
use crate::output::screen::note;
use crate::server::{POLL_SECONDS, Retry, Server, encoded};
use crate::signals::Signals;
use crate::step::answer_headers::{header, task_state};
use crate::submission::shell::Shell;
use anyhow::Context;
use common::id::{Attempt, JobKey, TaskNumber};
use common::job::{ExitStatus, SignalNumber};
use common::wire::api::{LaunchAnswer, LaunchRequest, STDOUT_BYTES, SignalRequest};
use common::wire::node::TaskState;
use net::http::HeaderMap;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  kantctl launch g-002 nvidia-smi
  kantctl launch --job 42 g-001 'ps -u $USER; ls /tmp'

Inside a job, mpirun (Open MPI) and mpiexec (MPICH) use it to start their programs on the job's
other nodes: the job's environment configures that, and lists the nodes and the number of tasks on
each.

As with ssh, the words are joined and interpreted by your shell on the node: quote what the shell
here should not interpret. The program runs as part of the job: as the job's user, with its GPUs
and limits on that node, in its /tmp, with your current environment. It starts in the current
directory, or in /tmp if the node has no such directory, and its standard input is empty. It ends
with the job at the latest. kantctl exits when the program ends, with its exit code, or 128+N for
signal N. Signals to kantctl are forwarded to the program, except SIGKILL, which ends only kantctl.
Only the owner of a job can start programs in it.";

/// How long a node may be out of contact while a program runs there.
const NODE_PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two requests to a node that is out of contact.
const LOOK: Duration = Duration::from_secs(1);
/// Shells that MPI launchers can write command lines for; users of others get the first one.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "ksh", "zsh", "csh", "tcsh"];

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A running job [default: the job that this command runs in]
    #[arg(long, value_name = "JOB")]
    pub job: Option<JobKey>,
    /// Ignored; accepted from programs that call kantctl like ssh
    #[arg(short = 'x', hide = true)]
    pub x: bool,
    /// One of the job's nodes, by name or address
    #[arg(value_name = "NODE")]
    pub node: String,
    /// The command to run
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Starts a program on a node, and shows its output until it ends.
///
/// # Errors
/// [`Failure`] when it cannot be started, or its outcome cannot be determined.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let shell = Shell::current()?;
    let (key, attempt) = job(args.job, &shell.environment)?;
    let work_dir = shell.directory.to_str().map(str::to_owned).unwrap_or_else(|| "/tmp".to_owned());
    let task = TaskNumber(random_program_number()?);
    let program = vec![login_shell(), "-c".to_owned(), args.command.join(" ")];
    let environment = shell.environment;
    let node = args.node.clone();
    let manner = common::wire::node::Manner::default();
    let request = LaunchRequest { task, node, attempt, program, environment, work_dir, manner };
    let path = format!("/v1/jobs/{key}/tasks");
    // Signals are caught first, so that one that arrives during the start is forwarded.
    let mut signals = Signals::block_and_watch()?;
    let (place, early) = start(&path, &request, server, &mut signals).await?;
    let mut watch = Watch { path: format!("{path}/{task}"), place, taken: [0, 0] };
    if let Some(signal) = early {
        watch.forward_signal(signal, server).await;
    }
    loop {
        let state = tokio::select! {
            state = watch.show_new_output(server, screen) => state?,
            signal = signals.next() => {
                watch.forward_signal(signal, server).await;
                None
            }
        };
        match state {
            Some(TaskState::Ended(exit)) => return Ok(code(exit)),
            Some(TaskState::Failed(why)) => return Err(Failure::from_message(why)),
            Some(TaskState::Running) | None => {}
        }
    }
}

/// Starts the program; also returns a signal that arrived meanwhile. A second one gives up.
async fn start(
    path: &str,
    request: &LaunchRequest,
    server: &Server,
    signals: &mut Signals,
) -> Result<(LaunchAnswer, Option<Signal>), Failure> {
    let mut started = std::pin::pin!(server.post(path, request, Retry::IfUnanswered));
    let mut early = None;
    loop {
        tokio::select! {
            place = &mut started => return Ok((place?, early)),
            signal = signals.next() => {
                if early.replace(signal).is_some() {
                    let text = format!("gave up after {signal}: the program may have started");
                    return Err(Failure::from_message(text));
                }
            }
        }
    }
}

/// The job, and inside the job also its attempt.
fn job(
    named: Option<JobKey>,
    environment: &BTreeMap<String, String>,
) -> Result<(JobKey, Option<Attempt>), Failure> {
    if let Some(key) = named {
        return Ok((key, None));
    }
    let key = environment.get("KANT_JOB_ID").and_then(|key| key.parse().ok());
    let key = key.ok_or_else(|| {
        Failure::usage(anyhow::anyhow!("this does not run inside a job: name one with --job"))
    })?;
    let attempt = environment.get("KANT_JOB_ATTEMPT").and_then(|attempt| attempt.parse().ok());
    Ok((key, attempt.map(Attempt)))
}

/// The user's login shell, as ssh uses it: Open MPI writes its command line for that shell.
fn login_shell() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten();
    let shell = user.map(|user| user.shell).unwrap_or_default();
    let is_known = shell.file_name().is_some_and(|name| SHELLS.iter().any(|known| name == *known));
    let shell = shell.to_str().filter(|path| is_known && path.starts_with('/'));
    shell.unwrap_or("/bin/sh").to_owned()
}

/// A number that no other program in the job has.
fn random_program_number() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes))
        .context("failed to read /dev/urandom")?;
    // 53 bits, which every JSON reader can represent.
    Ok(u64::from_ne_bytes(bytes) >> 11)
}

/// The exit code as a shell reports it.
fn code(exit: ExitStatus) -> u8 {
    exit.signal.map_or(exit.code, |signal| 128_u8.saturating_add(signal))
}

/// A program that was started, and how much of its output was shown.
struct Watch {
    path: String,
    place: LaunchAnswer,
    taken: [u64; 2],
}

impl Watch {
    /// Shows new output; returns the program's state, unless there may be more output first.
    async fn show_new_output(
        &mut self,
        server: &Server,
        screen: &Screen,
    ) -> Result<Option<TaskState>, Failure> {
        let (headers, bytes) = self.request_output(server).await?;
        let state = task_state(&headers)?;
        let of_stdout = header(&headers, STDOUT_BYTES).and_then(|text| text.parse().ok());
        let (stdout, stderr) = bytes.split_at(of_stdout.unwrap_or(0).min(bytes.len()));
        self.taken[0] += stdout.len() as u64;
        self.taken[1] += stderr.len() as u64;
        screen.print_bytes(stdout)?;
        // Nothing is left to do when stderr is closed.
        let _ = std::io::stderr().lock().write_all(stderr);
        Ok(bytes.is_empty().then_some(state))
    }

    /// Forwards a signal, as ssh does with a terminal. A failure is only reported.
    async fn forward_signal(&self, signal: Signal, server: &Server) {
        let number = u8::try_from(signal as i32).unwrap_or_default();
        let request = SignalRequest { place: self.place.clone(), signal: SignalNumber(number) };
        let path = format!("{}/signal", self.path);
        let sent = server.post::<_, LaunchAnswer>(&path, &request, Retry::IfUnsent).await;
        if let Err(failure) = sent {
            note(&failure.error.to_string());
        }
    }

    /// Retries for a while when the node is out of contact, as during a restart of kantd.
    async fn request_output(&self, server: &Server) -> Result<(HeaderMap, net::Bytes), Failure> {
        let ([stdout, stderr], LaunchAnswer { node, attempt }) = (self.taken, &self.place);
        let path = format!(
            "{}?node={}&attempt={attempt}&stdout_from={stdout}&stderr_from={stderr}\
             &wait_seconds={POLL_SECONDS}",
            self.path,
            encoded(node.as_str())
        );
        let begun = Instant::now();
        loop {
            match server.get_bytes_retrying(&path, PATIENCE).await {
                Err(failure) if failure.is_silent_node() && begun.elapsed() < NODE_PATIENCE => {
                    tokio::time::sleep(LOOK).await;
                }
                answer => return answer,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn outside_a_job_the_job_must_be_named() {
        let inside = environment(&[("KANT_JOB_ID", "42_7"), ("KANT_JOB_ATTEMPT", "3")]);
        let (key, attempt) = job(None, &inside).unwrap();
        assert_eq!((key.to_string().as_str(), attempt), ("42_7", Some(Attempt(3))));
        let other = job(Some("9".parse().unwrap()), &inside).unwrap();
        assert_eq!(other, ("9".parse().unwrap(), None));
        assert!(job(None, &environment(&[])).unwrap_err().to_string().contains("--job"));
    }

    #[test]
    fn the_exit_code_is_that_of_the_program() {
        assert_eq!(code(ExitStatus { code: 3, signal: None }), 3);
        assert_eq!(code(ExitStatus { code: 0, signal: Some(15) }), 143);
    }

    #[test]
    fn programs_have_different_numbers() {
        assert_ne!(random_program_number().unwrap(), random_program_number().unwrap());
    }
}
