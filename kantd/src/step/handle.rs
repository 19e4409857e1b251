//! All steps of this node, as the rest of kantd uses them. Every method returns at once and is
//! idempotent; requests for unknown steps are ignored. Supervisors outlive this.

mod requests;

use super::dir::{self, StepDir};
use super::driver::{StepDriver, StepOrigin};
use super::job_size;
use super::journal;
use super::launch_fault::LaunchFault;
use super::leases::Leases;
use super::ledger_service::LedgerService;
use super::program_requests::WATCHES_MAX;
use super::recovery;
use super::registry::{StepRegistry, StepRequest};
use super::replicas::Replicas;
use super::spec::{StepRules, StepSpec};
use crate::cgroup::CgroupParent;
use common::gpu::Gpu;
use common::id::{AttemptId, NodeName};
use common::sync::Mutex;
use common::wire::node::{LaunchOrder, Resized, StepPhase, StepStatus};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The receiver of phase changes of all steps.
pub type StepChanges = mpsc::UnboundedReceiver<StepStatus>;

/// How long opening waits for the state of the steps found; later results follow as changes.
const ADOPT_WAIT: Duration = Duration::from_secs(5);

/// Settings of this node that its steps need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepsSettings {
    /// Steps lie in its subdirectory `steps`.
    pub spool: PathBuf,
    pub node: NodeName,
    pub cgroup: CgroupParent,
    pub allow_root: bool,
    /// Rules for every step.
    pub rules: StepRules,
    /// The kantd program; usually [`StepsSettings::own_program`].
    pub program: PathBuf,
    pub starts: StartLimits,
    /// The ports that replicas of services get.
    pub ports: RangeInclusive<u16>,
}

/// Limits on starting programs in running steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartLimits {
    /// The longest start, shorter than the requester's own timeout. A start may wait for the rest
    /// of the step's gang, or for other starts.
    pub patience: Duration,
    /// Starts in progress in one step; others wait. Each is a file in the spool.
    pub at_once: usize,
    /// Waiting starts in one step, each held in memory.
    pub waiting: usize,
}

impl Default for StartLimits {
    fn default() -> Self {
        Self { patience: Duration::from_secs(30), at_once: 128, waiting: 1024 }
    }
}

impl StepsSettings {
    /// The running program, even after an upgrade has replaced its file.
    #[must_use]
    pub fn own_program() -> PathBuf {
        PathBuf::from("/proc/self/exe")
    }
}

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
    registry: Arc<StepRegistry>,
    leases: Arc<Leases>,
    ledgers: Arc<LedgerService>,
    /// Notified when input is written to a program, whose answer is then expected.
    input_written: Arc<Notify>,
    drivers: Arc<Mutex<JoinSet<()>>>,
    /// Held while the size of a job is written.
    sizes: Arc<Mutex<()>>,
    /// Limits the number of readers of program output.
    watches: Arc<Semaphore>,
    replicas: Arc<Replicas>,
}

impl Steps {
    /// Makes the directories and adopts every step found there, whether it is alive, ended, lost,
    /// or was never launched. Returns once that is known.
    ///
    /// # Errors
    /// When the spool cannot be made or read.
    pub async fn open(settings: StepsSettings) -> Result<(Self, StepChanges), StepsError> {
        let spool = settings.spool.clone();
        let failed = |source| StepsError { spool: spool.clone(), source };
        let dir =
            std::path::absolute(&spool).and_then(|s| dir::make_steps_dir(&s)).map_err(failed)?;
        let found = dir::list_steps(&dir).map_err(failed)?;
        let (changes, receiver) = mpsc::unbounded_channel();
        let registry = Arc::new(StepRegistry::new(changes));
        let settings = Arc::new(settings);
        let watches = Arc::new(Semaphore::new(WATCHES_MAX));
        let (leases, input_written, ledgers) = (Arc::default(), Arc::default(), Arc::default());
        let (drivers, sizes) = (Arc::default(), Arc::default());
        let replicas = Arc::new(Replicas::new(settings.ports.clone()));
        let steps = Self {
            settings,
            dir,
            registry,
            leases,
            ledgers,
            input_written,
            drivers,
            sizes,
            watches,
            replicas,
        };
        let (adopting, mut adopted) = mpsc::channel(1);
        for dir in found {
            steps.adopt(dir, adopting.clone());
        }
        drop(adopting);
        // Returns when every driver has dropped its sender.
        let _ = timeout(ADOPT_WAIT, adopted.recv()).await;
        Ok((steps, receiver))
    }

    fn adopt(&self, dir: StepDir, adopting: mpsc::Sender<()>) {
        let Some(id) = dir.id() else {
            tracing::warn!("{} is not a step's directory; it is ignored", dir.path().display());
            return;
        };
        if recovery::is_incomplete(&dir) {
            // Nothing knows of this step. Reported now, it would be an unknown step without an end.
            tracing::warn!("{} has no complete spec; removing it", dir.path().display());
            if let Err(error) = dir.remove() {
                tracing::warn!("failed to remove {}: {error}", dir.path().display());
            }
            return;
        }
        match dir.read_spec() {
            Ok(spec) => self.replicas.adopt(&spec),
            Err(error) => tracing::warn!("failed to read the spec of {id}: {error}"),
        }
        let events = journal::read(&dir.journal_path()).unwrap_or_default();
        let phase = events.last().map_or(StepPhase::Preparing, journal::Event::phase);
        self.drive(id, dir, phase, StepOrigin::Found, Some(adopting));
    }

    fn drive(
        &self,
        id: AttemptId,
        dir: StepDir,
        phase: StepPhase,
        beginning: StepOrigin,
        adopting: Option<mpsc::Sender<()>>,
    ) {
        let Some(requests) = self.registry.add(id, phase) else { return };
        let settings = Arc::clone(&self.settings);
        let (registry, ledgers) = (Arc::clone(&self.registry), Arc::clone(&self.ledgers));
        let driver = StepDriver::new(id, dir, settings, registry, ledgers, requests, adopting);
        let mut drivers = self.drivers.lock();
        while drivers.try_join_next().is_some() {}
        drivers.spawn(driver.run(beginning));
    }

    /// All steps of the node, ended ones too, by attempt.
    #[must_use]
    pub fn status(&self) -> Vec<StepStatus> {
        self.registry.status()
    }

    /// Launches a step, unless it is known already. `gpus` are the node's. An error ends the step
    /// as a failed launch or a fault of the node. Only inside a tokio runtime.
    pub fn launch(&self, spec: LaunchOrder, gpus: &[Gpu]) {
        let id = spec.id;
        let dir = StepDir::for_attempt(&self.dir, id);
        let StepsSettings { node, cgroup, allow_root, rules, .. } = self.settings.as_ref();
        let spec = StepSpec::new(spec, node, gpus, cgroup.clone(), *allow_root);
        let spec = spec.map_err(|error| error.to_string());
        let with_ports = |spec: StepSpec| {
            let is_known = |id: AttemptId| self.registry.phase(id).is_some();
            let ports =
                self.replicas.add_with_ports(&spec, is_known).map_err(|error| error.to_string())?;
            Ok(StepSpec { rules: rules.clone(), ports, ..spec })
        };
        match spec.and_then(with_ports) {
            Ok(spec) => {
                let beginning = StepOrigin::New(Box::new(spec));
                self.drive(id, dir, StepPhase::Preparing, beginning, None);
            }
            Err(error) => {
                // The controller has an older inventory of this node.
                let end = recovery::failed_launch_end(LaunchFault::of_node(error));
                let phase = StepPhase::Ended(Box::new(end));
                self.drive(id, dir, phase, StepOrigin::Refused, None);
            }
        }
    }

    /// Applies the new size of a step's job. Only inside a tokio runtime.
    pub fn resize(&self, id: AttemptId, resized: Resized) {
        if self.registry.phase(id).is_none() {
            return;
        }
        let steps = self.clone();
        tokio::task::spawn_blocking(move || {
            let _one_at_a_time = steps.sizes.lock();
            if let Err(error) = job_size::write(&steps.dir_of(id), &resized) {
                tracing::warn!(step = %id, "failed to write the size of its job: {error}");
                return;
            }
            steps.ledgers.set_allocation(id, &resized.allocation);
            steps.registry.send(id, StepRequest::Resize(resized.number));
        });
    }

    /// The replicas of services among the steps, on the first node of each.
    #[must_use]
    pub fn replicas(&self) -> &Replicas {
        &self.replicas
    }

    pub(super) fn start_limits(&self) -> StartLimits {
        self.settings.starts
    }

    pub(super) fn registry(&self) -> &StepRegistry {
        &self.registry
    }

    /// Notified when a prolog or an epilog failed, so that the node checks its health.
    #[must_use]
    pub fn hook_failure_notify(&self) -> Arc<Notify> {
        self.registry.hook_failure_notify()
    }

    /// Notified when a step or a program in one begins, changes or is forgotten.
    #[must_use]
    pub fn change_notify(&self) -> Arc<Notify> {
        self.registry.change_notify()
    }

    pub(super) fn watch_semaphore(&self) -> &Semaphore {
        &self.watches
    }

    pub(super) fn ledgers(&self) -> &LedgerService {
        &self.ledgers
    }

    pub(super) fn leases(&self) -> &Leases {
        &self.leases
    }

    pub(super) fn input_notify(&self) -> &Notify {
        &self.input_written
    }

    /// The directory of a step, whether it exists or not.
    #[must_use]
    pub fn dir_of(&self, id: AttemptId) -> StepDir {
        StepDir::for_attempt(&self.dir, id)
    }

    /// The directory of all steps; each has its supervisor's `log` in it.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}
