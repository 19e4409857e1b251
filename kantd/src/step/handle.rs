//! What the rest of kantd uses: all steps of this node, and what may be wished of them.
//! Every method returns at once and may be repeated. Supervisors go on when this is dropped.

use super::board::{Board, Wish};
use super::books::Books;
use super::dir::{self, StepDir};
use super::fault::LaunchFault;
use super::journal;
use super::keeper::{Beginning, Keeper};
use super::leases::Leases;
use super::order::{StepOrder, StepRules};
use super::overuse::GpuOveruse;
use super::settle;
use super::size;
use super::tasks::WATCHES_MAX;
use crate::cgroup::Place;
use common::gpu::Gpu;
use common::id::{AttemptId, NodeName};
use common::time::Span;
use common::wire::node::{LaunchOrder, Resized, StepPhase, StepStatus};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Every change of a step's phase.
pub type StepChanges = mpsc::UnboundedReceiver<StepStatus>;

/// How long opening waits for what was found to be looked at; the rest follows as changes.
const LOOK_WAIT: Duration = Duration::from_secs(5);

/// What steps need to know of their node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepsSettings {
    /// Steps live in `steps` below it.
    pub spool: PathBuf,
    pub node: NodeName,
    /// How and where their processes are held together.
    pub cgroup: Place,
    /// May jobs of root run?
    pub allow_root: bool,
    /// What holds for every step.
    pub rules: StepRules,
    /// The kantd program; usually [`StepsSettings::own_program`].
    pub program: PathBuf,
    /// How programs are started in steps.
    pub starts: StartLimits,
}

/// How many programs are started in a step, and in what time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartLimits {
    /// How long one may take: less than whoever asks waits for an answer. Its step may wait for the
    /// rest of its gang, and it for others that are started there.
    pub patience: Duration,
    /// So many are started at once in one step, others wait: each is a file in the spool.
    pub at_once: usize,
    /// So many wait in one step, each held in memory.
    pub waiting: usize,
}

impl Default for StartLimits {
    fn default() -> Self {
        Self { patience: Duration::from_secs(30), at_once: 128, waiting: 1024 }
    }
}

impl StepsSettings {
    /// The program that runs now, also after its file was replaced by an upgrade.
    #[must_use]
    pub fn own_program() -> PathBuf {
        PathBuf::from("/proc/self/exe")
    }
}

/// A spool that cannot hold steps.
#[derive(Debug, thiserror::Error)]
#[error("failed to open the steps in {}: {source}", spool.display())]
pub struct StepsError {
    spool: PathBuf,
    source: io::Error,
}

/// All steps of this node.
#[derive(Debug, Clone)]
pub struct Steps {
    settings: Arc<StepsSettings>,
    dir: PathBuf,
    board: Arc<Board>,
    leases: Arc<Leases>,
    books: Arc<Books>,
    /// Somebody was fed: what it answers is awaited.
    fed: Arc<Notify>,
    keepers: Arc<Mutex<JoinSet<()>>>,
    /// Held by who writes the size of a job.
    sizes: Arc<Mutex<()>>,
    /// Of whoever looks at programs in steps.
    watches: Arc<Semaphore>,
}

impl Steps {
    /// Makes the directories and adopts every step found there: living, ended, lost, or ordered
    /// and never launched. Returns once it is known which.
    ///
    /// # Errors
    /// When the spool cannot be made or read.
    pub async fn open(settings: StepsSettings) -> Result<(Self, StepChanges), StepsError> {
        let spool = settings.spool.clone();
        let failed = |source| StepsError { spool: spool.clone(), source };
        let dir = std::path::absolute(&spool).and_then(|s| dir::make_steps(&s)).map_err(failed)?;
        let found = dir::list(&dir).map_err(failed)?;
        let (changes, receiver) = mpsc::unbounded_channel();
        let board = Arc::new(Board::new(changes));
        let settings = Arc::new(settings);
        let watches = Arc::new(Semaphore::new(WATCHES_MAX));
        let (leases, fed, books) = (Arc::default(), Arc::default(), Arc::default());
        let (keepers, sizes) = (Arc::default(), Arc::default());
        let steps = Self { settings, dir, board, leases, books, fed, keepers, sizes, watches };
        let (looking, mut looked) = mpsc::channel(1);
        for dir in found {
            steps.adopt(dir, looking.clone());
        }
        drop(looking);
        // Ends when every keeper has let go of its copy.
        let _ = timeout(LOOK_WAIT, looked.recv()).await;
        Ok((steps, receiver))
    }

    fn adopt(&self, dir: StepDir, looking: mpsc::Sender<()>) {
        let Some(id) = dir.id() else {
            tracing::warn!("{} is no step; left alone", dir.path().display());
            return;
        };
        if settle::is_half_made(&dir) {
            // Nobody was ever told of this step. Told now, it would be a stranger without an end.
            tracing::warn!("{} holds no order; removing it", dir.path().display());
            if let Err(error) = dir.remove() {
                tracing::warn!("failed to remove {}: {error}", dir.path().display());
            }
            return;
        }
        let events = journal::read(&dir.journal()).unwrap_or_default();
        let phase = events.last().map_or(StepPhase::Preparing, journal::Event::phase);
        self.keep(id, dir, phase, Beginning::Found, Some(looking));
    }

    fn keep(
        &self,
        id: AttemptId,
        dir: StepDir,
        phase: StepPhase,
        beginning: Beginning,
        looking: Option<mpsc::Sender<()>>,
    ) {
        let Some(wishes) = self.board.add(id, phase) else { return };
        let settings = Arc::clone(&self.settings);
        let shown = (Arc::clone(&self.board), Arc::clone(&self.books));
        let keeper = Keeper::new(id, dir, settings, shown, wishes, looking);
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        while keepers.try_join_next().is_some() {}
        keepers.spawn(keeper.keep(beginning));
    }

    /// Everything held, ended steps too, by id.
    #[must_use]
    pub fn status(&self) -> Vec<StepStatus> {
        self.board.status()
    }

    /// Launches a step; one that is known is left as it is. `gpus` are the node's. Whatever goes
    /// wrong ends the step, as a failed launch or a fault of the node. Only inside a tokio runtime.
    pub fn launch(&self, order: LaunchOrder, gpus: &[Gpu]) {
        let id = order.id;
        let dir = StepDir::of(&self.dir, id);
        let StepsSettings { node, cgroup, allow_root, rules, .. } = self.settings.as_ref();
        match StepOrder::new(order, node, gpus, cgroup.clone(), *allow_root) {
            Ok(order) => {
                let order = StepOrder { rules: rules.clone(), ..order };
                let beginning = Beginning::Order(Box::new(order));
                self.keep(id, dir, StepPhase::Preparing, beginning, None);
            }
            Err(error) => {
                // The controller knew another node than this one now is.
                let end = settle::failed_launch(LaunchFault::of_node(error.to_string()));
                let phase = StepPhase::Ended(Box::new(end));
                self.keep(id, dir, phase, Beginning::Refused, None);
            }
        }
    }

    /// Runs a step as soon as it is ready. A step that is not there is let be.
    pub fn go(&self, id: AttemptId) {
        self.board.wish(id, Wish::Go);
    }

    /// Lets the processes of a step stand still, and its time limit with them. A step that is not
    /// there is let be.
    pub fn suspend(&self, id: AttemptId) {
        self.board.wish(id, Wish::Suspend);
    }

    /// Lets them go on. A step that is not there is let be.
    pub fn resume(&self, id: AttemptId) {
        self.board.wish(id, Wish::Resume);
    }

    /// From now on it has this time limit, counted from its first process. A step that is not there
    /// is let be.
    pub fn limit(&self, id: AttemptId, limit: Span) {
        self.board.wish(id, Wish::Limit(limit));
    }

    /// Its job has another size now: those who read its directory are told, and then the job. A
    /// step that is not there is let be. Only inside a tokio runtime.
    pub fn resize(&self, id: AttemptId, resized: Resized) {
        if self.board.phase(id).is_none() {
            return;
        }
        let steps = self.clone();
        tokio::task::spawn_blocking(move || {
            let _one_at_a_time = steps.sizes.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = size::leave(&steps.dir_of(id), &resized) {
                tracing::warn!(step = %id, "failed to write the size of its job: {error}");
                return;
            }
            steps.books.resized(id, &resized.allocation);
            steps.board.wish(id, Wish::Resize(resized.number));
        });
    }

    /// Ends a step: SIGTERM, the grace, SIGKILL. A step that is not there is let be.
    pub fn stop(&self, id: AttemptId) {
        self.board.wish(id, Wish::Stop);
    }

    /// Ends a step as one that has more of a GPU's memory than its share.
    pub fn end_for(&self, id: AttemptId, overuse: GpuOveruse) {
        self.board.wish(id, Wish::Overuse(overuse));
    }

    /// Forgets a step that has ended. Any other is let be.
    pub fn forget(&self, id: AttemptId) {
        self.board.wish(id, Wish::Forget);
    }

    pub(super) fn start_limits(&self) -> StartLimits {
        self.settings.starts
    }

    pub(super) fn board(&self) -> &Board {
        &self.board
    }

    /// Rings when a prolog or an epilog failed: the node should look at itself.
    #[must_use]
    pub fn bell(&self) -> Arc<Notify> {
        self.board.bell()
    }

    pub(super) fn watches(&self) -> &Semaphore {
        &self.watches
    }

    pub(super) fn books(&self) -> &Books {
        &self.books
    }

    pub(super) fn leases(&self) -> &Leases {
        &self.leases
    }

    pub(super) fn fed(&self) -> &Notify {
        &self.fed
    }

    /// Where a step's files are, or would be.
    #[must_use]
    pub fn dir_of(&self, id: AttemptId) -> StepDir {
        StepDir::of(&self.dir, id)
    }

    /// Where steps live; what a step has to say is in its `log` there.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}
