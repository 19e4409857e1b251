//! Programs in steps that run, for whoever asks the session: kantd leaves the order in the step's
//! directory, its supervisor starts it and tells how it does, and kantd reads what it wrote.
//! Never starts a process itself.

use super::board::{Board, Known, Stage, Wish};
use super::dir::StepDir;
use super::guest::GuestOrder;
use super::handle::{StartLimits, Steps};
use super::leases::Standing;
use common::id::{AttemptId, TaskNumber};
use common::job::SignalNumber;
use common::wire::node::{
    FeedTask, FromNode, SignalTask, StartTask, StepPhase, TaskNews, TaskState, ToNode, WatchTask,
};
use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// So many are watched at once on a node, each looked at many times a second; others are slow.
pub const WATCHES_MAX: usize = 1024;
/// How often the others are looked at.
const SLOW_LOOK: Duration = Duration::from_secs(1);
/// How long a kantd that has just started waits for a supervisor's word on a program.
const KNOWN_LIMIT: Duration = Duration::from_secs(5);
/// No question waits longer.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// The first and the longest pause between two looks.
const LOOKS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(75)];
/// Between two looks at leases.
const LEASE_LOOK: Duration = Duration::from_secs(1);
/// No piece of output is larger.
const BYTES_MAX: usize = 256 << 10;

/// Pauses between looks: short at first, for most programs start at once.
struct Pause {
    next: Duration,
    longest: Duration,
}

impl Pause {
    const SHORT: Self = Self { next: LOOKS[0], longest: LOOKS[1] };
    const LONG: Self = Self { next: SLOW_LOOK, longest: SLOW_LOOK };

    /// Less where a program is no longer as it was known.
    async fn or_news(&mut self, board: &Board, of: (AttemptId, TaskNumber), known: &Known) {
        tokio::select! {
            () = sleep(self.next) => self.next = (self.next * 2).min(self.longest),
            () = board.differs(of, known) => {}
        }
    }
}

impl Steps {
    /// Answers a question about a program in a step, or about a job's steps; any other has no
    /// answer here.
    pub async fn answer(&self, question: ToNode) -> Option<FromNode> {
        let news = match question {
            ToNode::StartTask(asked) => self.start_task(*asked).await,
            ToNode::WatchTask(asked) => self.watch_task(asked).await,
            ToNode::SignalTask(asked) => self.signal_task(&asked),
            ToNode::FeedTask(asked) => self.feed_task(asked).await,
            ToNode::AskSteps(asked) => {
                let news = self.books().answer(*asked, self.board(), self.dir()).await;
                return Some(FromNode::Steps(Box::new(news)));
            }
            ToNode::SignalJob(asked) => return Some(FromNode::Signalled(self.signal_job(&asked))),
            _ => return None,
        };
        Some(FromNode::Task(news))
    }

    /// Starts a program in a step, once however often it is asked.
    pub async fn start_task(&self, asked: StartTask) -> TaskNews {
        let StartTask { question, id, task, program, environment, work_dir, manner } = asked;
        self.leases().hold((id, task), manner.lease);
        let order = GuestOrder { program, environment, work_dir, manner };
        let most = self.start_limits().waiting;
        let waits = self.board().begin_start(id, Stage::Waits, most);
        let begun = match waits {
            None if self.board().task(id, task).is_some() => {
                Err(format!("{most} programs wait for their start in {id} there"))
            }
            _ => self.begin(id, task, order).await,
        };
        TaskNews::of(question, begun.unwrap_or_else(TaskState::Failed))
    }

    /// Leaves the order once the step can take it, and waits for what becomes of it.
    async fn begin(
        &self,
        id: AttemptId,
        task: TaskNumber,
        order: GuestOrder,
    ) -> Result<TaskState, String> {
        let StartLimits { patience, at_once, .. } = self.start_limits();
        let deadline = Instant::now() + patience;
        let mut order = Some(order);
        // Held until it is known what became of it.
        let mut room = None;
        let mut pause = Pause::SHORT;
        loop {
            room = room.or_else(|| self.board().begin_start(id, Stage::Starts, at_once));
            let known = self.board().task(id, task);
            match known.clone() {
                Some((_, Some(state))) => return Ok(state),
                Some((StepPhase::Ended(_), None)) => return Err(format!("{id} is over there")),
                None if order.is_none() => return Err(format!("{id} is over there")),
                None => return Err(format!("the node does not have {id}")),
                Some(_) if Instant::now() >= deadline && room.is_none() => {
                    return Err(format!(
                        "it did not start within {patience:?}: {at_once} others were being \
                         started in {id} there all the time"
                    ));
                }
                Some(_) if Instant::now() >= deadline => return Err(self.too_late(id, task)),
                Some((StepPhase::Ready | StepPhase::Running { .. }, None)) if room.is_some() => {
                    if let Some(order) = order.take() {
                        self.leave(id, task, order).await?;
                    }
                }
                Some(_) => {}
            }
            pause.or_news(self.board(), (id, task), &known).await;
        }
    }

    async fn leave(
        &self,
        id: AttemptId,
        task: TaskNumber,
        order: GuestOrder,
    ) -> Result<(), String> {
        let dir = StepDir::of(self.dir(), id);
        let left = spawn_blocking(move || order.leave(&dir, task)).await;
        match left.map_err(io::Error::other).and_then(|left| left) {
            Ok(_) => self.board().wish(id, Wish::Task(task)),
            Err(error) => return Err(format!("failed to write its order to the spool: {error}")),
        }
        Ok(())
    }

    /// Takes the order back, so that what was said not to start does not start later.
    fn too_late(&self, id: AttemptId, task: TaskNumber) -> String {
        let taken_back = std::fs::remove_file(StepDir::of(self.dir(), id).task(task)).is_ok();
        let why = match taken_back {
            true => "its supervisor is of an earlier release, or the job has not begun there",
            false => "the job has not begun there, or it hangs and may start yet",
        };
        format!("it did not start within {:?}: {why}", self.start_limits().patience)
    }

    /// Sends a program a signal. Returns at once, and how it was before.
    pub fn signal_task(&self, asked: &SignalTask) -> TaskNews {
        let SignalTask { question, id, task, signal } = *asked;
        let state = match self.board().task(id, task) {
            Some((_, Some(state))) => state,
            _ => TaskState::Failed("the node knows nothing of it".to_owned()),
        };
        self.board().wish(id, Wish::Signal(task, signal));
        TaskNews::of(question, state)
    }

    /// Adds to what a program reads. The file is there as soon as the program runs.
    async fn feed_task(&self, asked: FeedTask) -> TaskNews {
        let FeedTask { question, id, task, from, bytes } = asked;
        let state = self.known(id, task).await;
        if state != TaskState::Running {
            return TaskNews::of(question, state);
        }
        let path = StepDir::of(self.dir(), id).task_input(task);
        let write = move || open(File::options().write(true), &path)?.write_all_at(&bytes, from);
        let written = spawn_blocking(write).await.map_err(io::Error::other);
        match written.and_then(|written| written) {
            Ok(()) => {
                self.fed().notify_waiters();
                TaskNews::of(question, state)
            }
            Err(error) => {
                let why = format!("failed to write what it is to read to the spool: {error}");
                TaskNews::of(question, TaskState::Failed(why))
            }
        }
    }

    /// How a program does, as soon as its supervisor has said so to a kantd that has just started.
    async fn known(&self, id: AttemptId, task: TaskNumber) -> TaskState {
        let begun = Instant::now();
        let mut pause = Pause::SHORT;
        loop {
            let known = self.board().task(id, task);
            match known.clone() {
                Some((_, Some(state))) => return state,
                Some((phase, None))
                    if !matches!(phase, StepPhase::Ended(_)) && begun.elapsed() < KNOWN_LIMIT =>
                {
                    pause.or_news(self.board(), (id, task), &known).await;
                }
                _ => return TaskState::Failed("the node knows nothing of it".to_owned()),
            }
        }
    }

    /// Ends programs whose leases run out, for as long as the node is in session.
    async fn tend_leases(&self) -> Infallible {
        self.leases().renew_all();
        self.books().renew_all();
        loop {
            sleep(LEASE_LOOK).await;
            self.books().keep_still(self.board());
            for ((id, task), signal) in self.leases().over(|(id, task)| self.stands(id, task)) {
                tracing::info!("program {task} in {id}: nobody asks for it any more; {signal}");
                let number = SignalNumber(u8::try_from(signal as i32).unwrap_or_default());
                self.board().wish(id, Wish::Signal(task, number));
            }
        }
    }

    /// How a program stands, as far as its lease goes.
    fn stands(&self, id: AttemptId, task: TaskNumber) -> Standing {
        match self.board().task(id, task) {
            Some((StepPhase::Running { suspended: true, .. }, _)) => Standing::Still,
            Some((_, None | Some(TaskState::Running))) => Standing::Alive,
            Some((_, Some(_))) | None => Standing::Over,
        }
    }

    /// How a program is doing, as soon as there is news of it or what it wrote.
    pub async fn watch_task(&self, asked: WatchTask) -> TaskNews {
        let WatchTask { question, id, task, stdout_from, stderr_from, wait, lease } = asked;
        self.leases().hold((id, task), lease);
        let wait = Duration::from_millis(wait.0).min(WAIT_MAX);
        let begun = Instant::now();
        let watches = self.watches();
        let watch = watches.try_acquire().ok();
        let mut pause = if watch.is_some() { Pause::SHORT } else { Pause::LONG };
        loop {
            // Looked up before reading, so that its last words are never missed.
            let known = self.board().task(id, task);
            let state = match known.clone() {
                Some((StepPhase::Ended(_), Some(TaskState::Running))) => {
                    TaskState::Failed(format!("it ended with the job: {id} is over"))
                }
                Some((_, Some(state))) => state,
                Some((phase, None))
                    if !matches!(phase, StepPhase::Ended(_)) && begun.elapsed() < KNOWN_LIMIT =>
                {
                    pause.or_news(self.board(), (id, task), &known).await;
                    continue;
                }
                _ => TaskState::Failed(format!("the node knows nothing of it: {id} is over there")),
            };
            let dir = StepDir::of(self.dir(), id);
            let read = spawn_blocking(move || {
                let [stdout, stderr] = dir.task_output(task);
                [read_at(&stdout, stdout_from), read_at(&stderr, stderr_from)]
            });
            let [stdout, stderr] = read.await.unwrap_or_default();
            let is_news = state != TaskState::Running || !(stdout.is_empty() && stderr.is_empty());
            if is_news || begun.elapsed() >= wait {
                return TaskNews { question, state, stdout, stderr };
            }
            tokio::select! {
                () = pause.or_news(self.board(), (id, task), &known) => {}
                // Who types waits for the echo.
                () = self.fed().notified(), if watch.is_some() => pause = Pause::SHORT,
            }
        }
    }
}

/// Ends programs whose leases run out, while a session lasts: nobody can ask for a program while
/// the node is out of session, so leases do not run then.
pub async fn tend_leases(steps: Option<&Steps>) -> Infallible {
    match steps {
        Some(steps) => steps.tend_leases().await,
        None => std::future::pending().await,
    }
}

/// The next piece; none of a file that is not there: it never ran, or its step is forgotten.
fn read_at(path: &Path, from: u64) -> Vec<u8> {
    let mut bytes = vec![0; BYTES_MAX];
    let file = open(File::options().read(true), path);
    let read = file.and_then(|file| file.read_at(&mut bytes, from)).unwrap_or(0);
    bytes.truncate(read);
    bytes
}

/// A file that is the user's own: with a lease of theirs on it (man 2 fcntl, F_SETLEASE) they could
/// otherwise hold every thread that opens it, for as long as the kernel waits for them.
fn open(how: &mut OpenOptions, path: &Path) -> io::Result<File> {
    how.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)
}
