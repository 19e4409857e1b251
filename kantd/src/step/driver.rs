//! The driver of one step, kantd's side of it: starts the step's supervisor once, keeps a
//! connection to it, passes requests on, and cleans up after a supervisor that died. The journal
//! and the lock decide what happened.

mod connection;
mod start;

use super::control::Command;
use super::dir::StepDir;
use super::handle::StepsSettings;
use super::hook;
use super::launch_fault::LaunchFault;
use super::ledger_service::LedgerService;
use super::recovery::{self, StepState};
use super::registry::{StepRegistry, StepRequest};
use super::spec::StepSpec;
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

/// Pause before a failed operation is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How a driver gets its step.
pub enum StepOrigin {
    /// A new spec, not written yet.
    New(Box<StepSpec>),
    /// A directory found in the spool.
    Found,
    /// A launch that this node cannot carry out; there is no directory.
    Refused,
}

/// Drives one step until it is forgotten.
pub struct StepDriver {
    id: AttemptId,
    dir: StepDir,
    settings: Arc<StepsSettings>,
    registry: Arc<StepRegistry>,
    ledgers: Arc<LedgerService>,
    requests: mpsc::UnboundedReceiver<StepRequest>,
    go: bool,
    stop: bool,
    /// The last request to suspend or resume it.
    suspension: Option<Command>,
    /// The last request for its time limit.
    limit: Option<Command>,
    /// The last request for its size.
    size: Option<Command>,
    forget: bool,
    /// Programs to start that the supervisor has not reported yet, and the time of the request.
    tasks: BTreeMap<TaskNumber, Instant>,
    /// A supervisor may have been started.
    launched: bool,
    /// Dropped when the registry has the step's state.
    adopting: Option<mpsc::Sender<()>>,
}

impl StepDriver {
    /// A driver of a step that is in the registry.
    pub fn new(
        id: AttemptId,
        dir: StepDir,
        settings: Arc<StepsSettings>,
        registry: Arc<StepRegistry>,
        ledgers: Arc<LedgerService>,
        requests: mpsc::UnboundedReceiver<StepRequest>,
        adopting: Option<mpsc::Sender<()>>,
    ) -> Self {
        let (go, stop, forget, launched) = (false, false, false, false);
        let (suspension, limit, size, tasks) = (None, None, None, BTreeMap::new());
        Self {
            id,
            dir,
            settings,
            registry,
            ledgers,
            requests,
            go,
            stop,
            suspension,
            limit,
            size,
            forget,
            tasks,
            launched,
            adopting,
        }
    }

    /// Runs until the step is forgotten.
    pub async fn run(mut self, beginning: StepOrigin) {
        match beginning {
            StepOrigin::Found => self.launched = true,
            StepOrigin::Refused => return self.wait_for_forget().await,
            StepOrigin::New(spec) => match self.write(spec).await {
                Ok(is_new) => self.launched = !is_new,
                Err(fault) => {
                    self.handle_end(recovery::failed_launch_end(fault)).await;
                    return self.wait_for_forget().await;
                }
            },
        }
        loop {
            let found = self.recover().await;
            self.take_requests();
            // Only this driver starts a supervisor; without one, nothing is left that could run.
            let none_lives = match &found {
                Ok(found) => *found == StepState::Unlaunched,
                Err(_) => !self.launched,
            };
            if self.stop && none_lives {
                self.handle_end(recovery::never_ran_end(EndCause::Stopped, None)).await;
                return self.wait_for_forget().await;
            }
            match found {
                Err(error) => {
                    tracing::warn!("{error}; trying again");
                    self.pause().await;
                }
                Ok(StepState::Nothing) => {
                    let why = format!("the spec of {} is missing in the spool", self.id);
                    self.handle_end(recovery::failed_launch_end(LaunchFault::of_node(why))).await;
                    return self.wait_for_forget().await;
                }
                Ok(StepState::Unlaunched) => self.launch().await,
                Ok(StepState::Alive) => self.follow_supervisor().await,
                Ok(StepState::Ended(end)) => {
                    self.handle_end(*end).await;
                    return self.wait_for_forget().await;
                }
            }
        }
    }

    async fn handle_end(&mut self, mut end: StepEnd) {
        self.notify_failed_hooks();
        let (id, dir, at) = (self.id, self.dir.clone(), end.ended_at);
        let ledgers = Arc::clone(&self.ledgers);
        let Ok(steps) =
            run_blocking(move || Ok::<_, Infallible>(ledgers.close(id, &dir, at))).await;
        end.steps = steps;
        self.registry.set(self.id, StepPhase::Ended(Box::new(end)));
        self.adopting = None;
    }

    /// Before the end is reported, so that the node is drained soon after.
    fn notify_failed_hooks(&self) {
        if hook::failure_file(&self.settings.spool).exists() {
            self.registry.hook_failure_notify().notify_one();
        }
    }

    /// Makes the directory and writes the spec; false if the step is there already.
    async fn write(&self, spec: Box<StepSpec>) -> Result<bool, LaunchFault> {
        let (id, dir) = (self.id, self.dir.clone());
        let shown = dir.path().display().to_string();
        let written = run_blocking(move || {
            let is_new = dir.make()? || recovery::is_incomplete(&dir);
            if is_new && let Err(error) = dir.write_spec(&spec) {
                // Nothing was launched; a partial directory would only be in the way.
                let _ = dir.remove();
                return Err(error);
            }
            Ok(is_new)
        });
        written.await.map_err(|error: io::Error| {
            let message = format!("failed to write the spec of {id} to {shown}: {error}");
            LaunchFault::of_node_or_exhaustion(&error, message)
        })
    }

    async fn recover(&self) -> Result<StepState, recovery::RecoveryError> {
        let (id, dir, place) = (self.id, self.dir.clone(), self.settings.cgroup.clone());
        run_blocking(move || recovery::recover(&dir, id, &place)).await
    }

    /// Starts the supervisor. The supervisor claims the step, so that a second one does no harm.
    async fn launch(&mut self) {
        self.launched = true;
        let (program, dir) = (self.settings.program.clone(), self.dir.path().to_owned());
        let Err(why) = run_blocking(move || start::start_supervisor(program, dir)).await else {
            return;
        };
        let why = format!("failed to start the supervisor of {}: {why}", self.id);
        tracing::warn!("{why}");
        let (id, dir) = (self.id, self.dir.clone());
        if let Err(error) =
            run_blocking(move || recovery::record_failed_launch(&dir, id, why)).await
        {
            tracing::warn!("{error}; trying again");
            self.pause().await;
        }
    }

    /// Pauses before a retry. A request ends the pause.
    async fn pause(&mut self) {
        tokio::select! {
            () = sleep(RETRY_PAUSE) => {}
            Some(request) = self.requests.recv() => drop(self.record(request)),
        }
    }

    /// Records all pending requests.
    fn take_requests(&mut self) {
        while let Ok(request) = self.requests.try_recv() {
            self.record(request);
        }
    }

    /// Records a request for later connections; returns the command for the current one.
    fn record(&mut self, request: StepRequest) -> Option<Command> {
        match request {
            StepRequest::Go => {
                self.go = true;
                Some(Command::Go)
            }
            StepRequest::Suspend => {
                self.suspension = Some(Command::Suspend);
                self.suspension
            }
            StepRequest::Resume => {
                self.suspension = Some(Command::Resume);
                self.suspension
            }
            StepRequest::Limit(limit) => {
                self.limit = Some(Command::Limit(limit));
                self.limit
            }
            StepRequest::Resize(number) => {
                self.size = Some(Command::Resize(number));
                self.size
            }
            StepRequest::Stop => {
                self.stop = true;
                Some(Command::Stop)
            }
            StepRequest::Forget => {
                self.forget = true;
                None
            }
            StepRequest::Task(task) => {
                self.tasks.insert(task, Instant::now());
                Some(Command::Task(task))
            }
            // A signal is momentary: it is lost without a supervisor.
            StepRequest::Signal(task, signal) => Some(Command::Signal { task, signal }),
            StepRequest::SignalJob(signal, target) => Some(Command::SignalJob { signal, target }),
            // Accounting finds the overuse again.
            StepRequest::Overuse(overuse) => Some(Command::Overuse(overuse)),
            // Probes fail again.
            StepRequest::NotLive(why) => Some(Command::NotLive(why)),
        }
    }

    /// Waits until the step may be forgotten, then removes it.
    async fn wait_for_forget(mut self) {
        while !self.forget {
            match self.requests.recv().await {
                Some(request) => drop(self.record(request)),
                None => return,
            }
        }
        self.remove().await;
    }

    async fn remove(self) {
        let dir = self.dir.clone();
        if let Err(error) = run_blocking(move || dir.remove()).await {
            let shown = self.dir.path().display();
            tracing::warn!("failed to remove {shown}: {error}; remove it manually");
        }
        self.registry.remove(self.id);
    }
}

/// Runs blocking work on another thread.
async fn run_blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: Send + 'static,
{
    match spawn_blocking(work).await {
        Ok(result) => result,
        // Only a panic inside `work`, or the end of the runtime.
        Err(error) => std::panic::resume_unwind(Box::new(io::Error::other(error))),
    }
}
