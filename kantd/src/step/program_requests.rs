//! Requests about programs in running steps, which arrive by the session: kantd writes the
//! program's spec into the step's directory, the supervisor starts it and reports its state, and
//! kantd reads its output.

use super::dir::StepDir;
use super::handle::{StartLimits, Steps};
use super::program_spec::ProgramSpec;
use super::registry::{ProgramView, StartStage, StepRegistry, StepRequest};
use common::id::{AttemptId, TaskNumber};
use common::wire::node::{
    FeedTask, FromNode, SignalTask, StartTask, StepPhase, TaskNews, TaskState, ToNode, WatchTask,
};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// Number of programs watched closely at the same time on a node; others are polled slowly.
pub const WATCHES_MAX: usize = 1024;
/// Poll interval of the others.
const SLOW_POLL: Duration = Duration::from_secs(1);
/// How long a kantd that has just started waits for a supervisor's report on a program.
const KNOWN_LIMIT: Duration = Duration::from_secs(5);
/// The longest time that a request waits for its answer.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// The first and the longest poll interval.
const POLL_PAUSES: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(75)];
/// The largest piece of output.
const BYTES_MAX: usize = 256 << 10;

/// Poll intervals, short at first because most programs start at once.
struct Pause {
    next: Duration,
    longest: Duration,
}

impl Pause {
    const SHORT: Self = Self { next: POLL_PAUSES[0], longest: POLL_PAUSES[1] };
    const LONG: Self = Self { next: SLOW_POLL, longest: SLOW_POLL };

    /// Waits for the interval, or until the program differs from `known`.
    async fn wait_or_change(
        &mut self,
        registry: &StepRegistry,
        id: AttemptId,
        task: TaskNumber,
        known: &ProgramView,
    ) {
        tokio::select! {
            () = sleep(self.next) => self.next = (self.next * 2).min(self.longest),
            () = registry.wait_for_change(id, task, known) => {}
        }
    }
}

impl Steps {
    /// Answers a request about a program or about a job's steps; `None` for other messages.
    pub async fn answer(&self, question: ToNode) -> Option<FromNode> {
        let news = match question {
            ToNode::StartTask(asked) => self.start_task(*asked).await,
            ToNode::WatchTask(asked) => self.watch_task(asked).await,
            ToNode::SignalTask(asked) => self.signal_task(&asked),
            ToNode::FeedTask(asked) => self.feed_task(asked).await,
            ToNode::AskSteps(asked) => {
                let news = self.ledgers().answer(*asked, self.registry(), self.dir()).await;
                return Some(FromNode::Steps(Box::new(news)));
            }
            ToNode::SignalJob(asked) => return Some(FromNode::Signalled(self.signal_job(&asked))),
            _ => return None,
        };
        Some(FromNode::Task(news))
    }

    /// Starts a program in a step, once even if the request is repeated.
    pub async fn start_task(&self, asked: StartTask) -> TaskNews {
        let StartTask { question, id, task, program, environment, work_dir, manner } = asked;
        self.leases().renew((id, task), manner.lease);
        let spec = ProgramSpec { program, environment, work_dir, manner };
        let most = self.start_limits().waiting;
        let waits = self.registry().reserve_start(id, StartStage::Queued, most);
        let begun = match waits {
            None if self.registry().task(id, task).is_some() => {
                Err(format!("{most} programs wait to be started in {id} there already"))
            }
            _ => self.launch_program(id, task, spec).await,
        };
        TaskNews::from_state(question, begun.unwrap_or_else(TaskState::Failed))
    }

    /// Submits the program as soon as its step accepts it, and waits for its state.
    async fn launch_program(
        &self,
        id: AttemptId,
        task: TaskNumber,
        spec: ProgramSpec,
    ) -> Result<TaskState, String> {
        let StartLimits { patience, at_once, .. } = self.start_limits();
        let deadline = Instant::now() + patience;
        let mut spec = Some(spec);
        // Held until the state is known.
        let mut room = None;
        let mut pause = Pause::SHORT;
        loop {
            room =
                room.or_else(|| self.registry().reserve_start(id, StartStage::Launching, at_once));
            let known = self.registry().task(id, task);
            match known.clone() {
                Some((_, Some(state))) => return Ok(state),
                Some((StepPhase::Ended(_), None)) => return Err(format!("{id} has ended there")),
                None if spec.is_none() => return Err(format!("{id} has ended there")),
                None => return Err(format!("{id} does not run on this node")),
                Some(_) if Instant::now() >= deadline && room.is_none() => {
                    return Err(format!(
                        "it did not start within {patience:?}: {at_once} other programs were being \
                         started in {id} there all that time"
                    ));
                }
                Some(_) if Instant::now() >= deadline => {
                    return Err(self.withdraw_program(id, task));
                }
                Some((StepPhase::Ready | StepPhase::Running { .. }, None)) if room.is_some() => {
                    if let Some(spec) = spec.take() {
                        self.submit(id, task, spec).await?;
                    }
                }
                Some(_) => {}
            }
            pause.wait_or_change(self.registry(), id, task, &known).await;
        }
    }

    async fn submit(
        &self,
        id: AttemptId,
        task: TaskNumber,
        spec: ProgramSpec,
    ) -> Result<(), String> {
        let dir = StepDir::for_attempt(self.dir(), id);
        let left = spawn_blocking(move || spec.write(&dir, task)).await;
        match left.map_err(io::Error::other).and_then(|left| left) {
            Ok(_) => self.registry().send(id, StepRequest::Task(task)),
            Err(error) => {
                return Err(format!("failed to write the program's spec to the spool: {error}"));
            }
        }
        Ok(())
    }

    /// Removes the spec, so that a program reported as not started does not start later.
    fn withdraw_program(&self, id: AttemptId, task: TaskNumber) -> String {
        let taken_back =
            std::fs::remove_file(StepDir::for_attempt(self.dir(), id).task_spec_path(task)).is_ok();
        let why = match taken_back {
            true => "the job has not started there",
            false => "the program hangs and may still start",
        };
        format!("it did not start within {:?}: {why}", self.start_limits().patience)
    }

    /// Sends a signal to a program. Returns its state before the signal at once.
    pub fn signal_task(&self, asked: &SignalTask) -> TaskNews {
        let SignalTask { question, id, task, signal } = *asked;
        let state = match self.registry().task(id, task) {
            Some((_, Some(state))) => state,
            _ => TaskState::Failed("the node does not know the program".to_owned()),
        };
        self.registry().send(id, StepRequest::Signal(task, signal));
        TaskNews::from_state(question, state)
    }

    /// Appends to a program's input file, which exists once the program runs.
    async fn feed_task(&self, asked: FeedTask) -> TaskNews {
        let FeedTask { question, id, task, from, bytes } = asked;
        let state = self.known_state(id, task).await;
        if state != TaskState::Running {
            return TaskNews::from_state(question, state);
        }
        let path = StepDir::for_attempt(self.dir(), id).task_input_path(task);
        let write = move || open(File::options().write(true), &path)?.write_all_at(&bytes, from);
        let written = spawn_blocking(write).await.map_err(io::Error::other);
        match written.and_then(|written| written) {
            Ok(()) => {
                self.input_notify().notify_waiters();
                TaskNews::from_state(question, state)
            }
            Err(error) => {
                let why = format!("failed to write its input to the spool: {error}");
                TaskNews::from_state(question, TaskState::Failed(why))
            }
        }
    }

    /// A program's state; waits for the supervisor's report if kantd has just started.
    async fn known_state(&self, id: AttemptId, task: TaskNumber) -> TaskState {
        let begun = Instant::now();
        let mut pause = Pause::SHORT;
        loop {
            let known = self.registry().task(id, task);
            match known.clone() {
                Some((_, Some(state))) => return state,
                Some((phase, None))
                    if !matches!(phase, StepPhase::Ended(_)) && begun.elapsed() < KNOWN_LIMIT =>
                {
                    pause.wait_or_change(self.registry(), id, task, &known).await;
                }
                _ => return TaskState::Failed("the node does not know the program".to_owned()),
            }
        }
    }

    /// Returns when a program's state changes or it has written output.
    pub async fn watch_task(&self, asked: WatchTask) -> TaskNews {
        let WatchTask { question, id, task, stdout_from, stderr_from, wait, lease } = asked;
        self.leases().renew((id, task), lease);
        let wait = Duration::from_millis(wait.0).min(WAIT_MAX);
        let begun = Instant::now();
        let watches = self.watch_semaphore();
        let watch = watches.try_acquire().ok();
        let mut pause = if watch.is_some() { Pause::SHORT } else { Pause::LONG };
        loop {
            // Looked up before reading, so that the last output is not missed.
            let known = self.registry().task(id, task);
            let state = match known.clone() {
                Some((StepPhase::Ended(_), Some(TaskState::Running))) => {
                    TaskState::Failed(format!("it ended with the job: {id} has ended"))
                }
                Some((_, Some(state))) => state,
                Some((phase, None))
                    if !matches!(phase, StepPhase::Ended(_)) && begun.elapsed() < KNOWN_LIMIT =>
                {
                    pause.wait_or_change(self.registry(), id, task, &known).await;
                    continue;
                }
                _ => TaskState::Failed(format!(
                    "the node does not know the program: {id} has ended there"
                )),
            };
            let dir = StepDir::for_attempt(self.dir(), id);
            let read = spawn_blocking(move || {
                let [stdout, stderr] = dir.task_output_paths(task);
                [read_at(&stdout, stdout_from), read_at(&stderr, stderr_from)]
            });
            let [stdout, stderr] = read.await.unwrap_or_default();
            let is_news = state != TaskState::Running || !(stdout.is_empty() && stderr.is_empty());
            if is_news || begun.elapsed() >= wait {
                return TaskNews { question, state, stdout, stderr };
            }
            tokio::select! {
                () = pause.wait_or_change(self.registry(), id, task, &known) => {}
                // An interactive user waits for the echo.
                () = self.input_notify().notified(), if watch.is_some() => pause = Pause::SHORT,
            }
        }
    }
}

/// The next piece of a file; empty if it does not exist: the program never ran, or is forgotten.
fn read_at(path: &Path, from: u64) -> Vec<u8> {
    let mut bytes = vec![0; BYTES_MAX];
    let file = open(File::options().read(true), path);
    let read = file.and_then(|file| file.read_at(&mut bytes, from)).unwrap_or(0);
    bytes.truncate(read);
    bytes
}

/// Opens a file that its user owns. A lease on it (man 2 fcntl, F_SETLEASE) could otherwise block
/// every thread that opens it.
fn open(how: &mut OpenOptions, path: &Path) -> io::Result<File> {
    how.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)
}
