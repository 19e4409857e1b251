//! kantd's side of one step: starts its supervisor once, holds the line to it, passes wishes on,
//! and cleans up after one that died. Never believes more than journal and lock say.

mod line;
mod start;

use super::board::{Board, Wish};
use super::books::Books;
use super::control::Command;
use super::dir::StepDir;
use super::fault::LaunchFault;
use super::handle::StepsSettings;
use super::hook;
use super::order::StepOrder;
use super::settle::{self, Found};
use common::id::{AttemptId, TaskNumber};
use common::job::{EndCause, StepEnd};
use common::wire::node::StepPhase;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// Before trying again what the system refused.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How a keeper comes to its step.
pub enum Beginning {
    /// A new order, to be written.
    Order(Box<StepOrder>),
    /// A directory that was there.
    Found,
    /// An order that cannot be followed; there is no directory.
    Refused,
}

/// Keeps one step from its beginning until it is forgotten.
pub struct Keeper {
    id: AttemptId,
    dir: StepDir,
    settings: Arc<StepsSettings>,
    board: Arc<Board>,
    books: Arc<Books>,
    wishes: mpsc::UnboundedReceiver<Wish>,
    go: bool,
    stop: bool,
    /// The last word on whether it stands still.
    still: Option<Command>,
    /// The last word on its time limit.
    limit: Option<Command>,
    /// The last word on its size.
    size: Option<Command>,
    forget: bool,
    /// Programs to start that the supervisor has not spoken of yet, and since when.
    tasks: BTreeMap<TaskNumber, Instant>,
    /// May a supervisor have been started?
    launched: bool,
    /// Dropped when the board shows the step as it is.
    looking: Option<mpsc::Sender<()>>,
}

impl Keeper {
    /// Of a step that is on the board.
    pub fn new(
        id: AttemptId,
        dir: StepDir,
        settings: Arc<StepsSettings>,
        (board, books): (Arc<Board>, Arc<Books>),
        wishes: mpsc::UnboundedReceiver<Wish>,
        looking: Option<mpsc::Sender<()>>,
    ) -> Self {
        let (go, stop, forget, launched) = (false, false, false, false);
        let (still, limit, size, tasks) = (None, None, None, BTreeMap::new());
        Self {
            id,
            dir,
            settings,
            board,
            books,
            wishes,
            go,
            stop,
            still,
            limit,
            size,
            forget,
            tasks,
            launched,
            looking,
        }
    }

    /// Until the step is forgotten.
    pub async fn keep(mut self, beginning: Beginning) {
        match beginning {
            Beginning::Found => self.launched = true,
            Beginning::Refused => return self.forgotten().await,
            Beginning::Order(order) => match self.write(order).await {
                Ok(is_new) => self.launched = !is_new,
                Err(fault) => {
                    self.ended(settle::failed_launch(fault)).await;
                    return self.forgotten().await;
                }
            },
        }
        loop {
            let found = self.settle().await;
            self.hear();
            // Nobody else starts a supervisor; without one, nothing is left that could run.
            let none_lives = match &found {
                Ok(found) => *found == Found::Unlaunched,
                Err(_) => !self.launched,
            };
            if self.stop && none_lives {
                self.ended(settle::never_ran(EndCause::Stopped, None)).await;
                return self.forgotten().await;
            }
            match found {
                Err(error) => {
                    tracing::warn!("{error}; trying again");
                    self.pause().await;
                }
                Ok(Found::Nothing) => {
                    let why = format!("the order of {} is gone from the spool", self.id);
                    self.ended(settle::failed_launch(LaunchFault::of_node(why))).await;
                    return self.forgotten().await;
                }
                Ok(Found::Unlaunched) => self.launch().await,
                Ok(Found::Alive) => self.follow().await,
                Ok(Found::Ended(end)) => {
                    self.ended(*end).await;
                    return self.forgotten().await;
                }
            }
        }
    }

    async fn ended(&mut self, mut end: StepEnd) {
        self.look_for_failed_hooks();
        let (id, dir, at) = (self.id, self.dir.clone(), end.ended_at);
        let books = Arc::clone(&self.books);
        let Ok(steps) = blocking(move || Ok::<_, Infallible>(books.over(id, &dir, at))).await;
        end.steps = steps;
        self.board.set(self.id, StepPhase::Ended(Box::new(end)));
        self.looking = None;
    }

    /// Before the end is told, so that the drain is not far behind it.
    fn look_for_failed_hooks(&self) {
        if hook::failures(&self.settings.spool).exists() {
            self.board.bell().notify_one();
        }
    }

    /// Makes the directory and writes the order; false if the step is there already.
    async fn write(&self, order: Box<StepOrder>) -> Result<bool, LaunchFault> {
        let (id, dir) = (self.id, self.dir.clone());
        let shown = dir.path().display().to_string();
        let written = blocking(move || {
            let is_new = dir.make()? || settle::is_half_made(&dir);
            if is_new && let Err(error) = dir.write_order(&order) {
                // Nothing was launched; half a directory would only be in the way.
                let _ = dir.remove();
                return Err(error);
            }
            Ok(is_new)
        });
        written.await.map_err(|error: io::Error| {
            let message = format!("failed to write the order of {id} to {shown}: {error}");
            LaunchFault::of_node_or_want(&error, message)
        })
    }

    async fn settle(&self) -> Result<Found, settle::SettleError> {
        let (id, dir, place) = (self.id, self.dir.clone(), self.settings.cgroup.clone());
        blocking(move || settle::settle(&dir, id, &place)).await
    }

    /// Starts the supervisor. It claims the step itself, so that a second one does no harm.
    async fn launch(&mut self) {
        self.launched = true;
        let (program, dir) = (self.settings.program.clone(), self.dir.path().to_owned());
        let Err(why) = blocking(move || start::supervisor(program, dir)).await else { return };
        let why = format!("failed to start the supervisor of {}: {why}", self.id);
        tracing::warn!("{why}");
        let (id, dir) = (self.id, self.dir.clone());
        if let Err(error) = blocking(move || settle::give_up(&dir, id, why)).await {
            tracing::warn!("{error}; trying again");
            self.pause().await;
        }
    }

    /// Before another try. A wish ends it early.
    async fn pause(&mut self) {
        tokio::select! {
            () = sleep(RETRY_PAUSE) => {}
            Some(wish) = self.wishes.recv() => drop(self.note(wish)),
        }
    }

    /// Takes the wishes that wait.
    fn hear(&mut self) {
        while let Ok(wish) = self.wishes.try_recv() {
            self.note(wish);
        }
    }

    /// Keeps a wish for a later connection; returns what to tell the supervisor now.
    fn note(&mut self, wish: Wish) -> Option<Command> {
        match wish {
            Wish::Go => {
                self.go = true;
                Some(Command::Go)
            }
            Wish::Suspend => {
                self.still = Some(Command::Suspend);
                self.still
            }
            Wish::Resume => {
                self.still = Some(Command::Resume);
                self.still
            }
            Wish::Limit(limit) => {
                self.limit = Some(Command::Limit(limit));
                self.limit
            }
            Wish::Resize(number) => {
                self.size = Some(Command::Resize(number));
                self.size
            }
            Wish::Stop => {
                self.stop = true;
                Some(Command::Stop)
            }
            Wish::Forget => {
                self.forget = true;
                None
            }
            Wish::Task(task) => {
                self.tasks.insert(task, Instant::now());
                Some(Command::Task(task))
            }
            // Of the moment: one that no supervisor hears is lost.
            Wish::Signal(task, signal) => Some(Command::Signal { task, signal }),
            Wish::SignalJob(signal, whom) => Some(Command::SignalJob { signal, whom }),
            // Found again at the next look.
            Wish::Overuse(overuse) => Some(Command::Overuse(overuse)),
        }
    }

    /// Waits until nobody wants to know of the step any more, then removes it.
    async fn forgotten(mut self) {
        while !self.forget {
            match self.wishes.recv().await {
                Some(wish) => drop(self.note(wish)),
                None => return,
            }
        }
        self.remove().await;
    }

    async fn remove(self) {
        let dir = self.dir.clone();
        if let Err(error) = blocking(move || dir.remove()).await {
            let shown = self.dir.path().display();
            tracing::warn!("failed to remove {shown}: {error}; remove it by hand");
        }
        self.board.remove(self.id);
    }
}

/// Work that blocks, on a thread of its own.
async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: Send + 'static,
{
    match spawn_blocking(work).await {
        Ok(result) => result,
        // Only a panic inside `work` or the end of the runtime get here.
        Err(error) => std::panic::resume_unwind(Box::new(io::Error::other(error))),
    }
}
