//! kantd from start to stop: the order in which things are opened, and the tasks that then run.
//!
//! Stopping kantd stops no job: supervisors are separate processes, and the next kantd adopts them.

use crate::cgroup::CgroupParent;
use crate::config::Settings;
use crate::container_support::Offer;
use crate::data_dirs;
use crate::enrolment::Renewal;
use crate::gpu::numbers::NumbersError;
use crate::health::{self, Watched};
use crate::node_probe::{NodeProbe, NodeProbeError, probe_node};
use crate::node_runtime::NodeRuntime;
use crate::notify;
use crate::probes::{Measuring, Prober};
use crate::routes::{self, RouterChannels};
use crate::runner::Executor;
use crate::session::{Measurements, NodeInfo, SessionTiming};
use crate::spool::{Spool, SpoolError};
use crate::step::{LeaderContact, StartLimits, StepRules, Steps, StepsError, StepsSettings};
use crate::{accounting, gpu_jobs};
use common::gpu::Gpu;
use common::id::{AttemptId, NodeName};
use common::node::Inventory;
use common::time::Span;
use common::wire::node::{LaunchOrder, Resized};
use net::{
    Credentials, CredentialsError, Endpoint, Identity, IdentityError, ListenError, LocalListener,
};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

/// An error because of which kantd cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error(
        "this node has no certificate: an operator runs `kantctl admin node invite {name}` on the \
         host of the leading controller; then run here, as root, \
         `KANT_INVITATION=... kantd join`"
    )]
    NotEnrolled { name: String },
    #[error(
        "the certificate in the spool is that of node {theirs}, and this is node {ours}: run \
         `kantd join` for this name, or correct `name` in kantd.toml"
    )]
    OtherName { theirs: NodeName, ours: NodeName },
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    NodeProbe(#[from] NodeProbeError),
    #[error(transparent)]
    Numbers(#[from] NumbersError),
    #[error(transparent)]
    Steps(#[from] StepsError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("failed to {verb}")]
    Io {
        verb: &'static str,
        #[source]
        source: io::Error,
    },
    /// A task of kantd ended, which is a bug. systemd restarts kantd, and jobs run on.
    #[error("failed to go on: a task of kantd ended, which is a bug; jobs on this node run on")]
    PartEnded,
}

/// Runs kantd until a stop signal arrives.
///
/// # Errors
/// [`DaemonError`], whose message says what to do.
pub async fn run(settings: Settings) -> Result<(), DaemonError> {
    let stop = StopSignals::listen()?;
    let spool = Spool::open_and_lock(&settings.spool)?;
    let credentials = load_credentials(&settings)?;
    let identity = Identity::node(&credentials)?;
    let NodeProbe { inventory, cgroup, containers, private_dirs, mut gpu_numbers, symptoms } =
        probe(&settings).await?;
    gpu_numbers.save()?;
    let rules = step_rules(&settings, private_dirs, containers);
    let (steps, changes) = Steps::open(steps_settings(&settings, &cgroup, rules)).await?;
    let listener = settings.socket.as_deref().map(listen).transpose()?;
    log_start(&settings, &credentials, &inventory, &steps);
    let (RouterChannels { load: router_load, routes }, serve_router) =
        routes::channels(&settings.spool, settings.router.as_ref().map(|router| router.bind));
    let (published_replicas, replicas) = watch::channel(BTreeMap::new());
    let (published_loads, replica_loads) = watch::channel(BTreeMap::new());
    let (published_idle, idle_gpus) = watch::channel(BTreeMap::new());
    let endpoint = |addr: &String| Endpoint::Tls { addr: addr.clone(), identity: identity.clone() };
    let (gpus, probe_now) = (inventory.gpus.clone(), steps.hook_failure_notify());
    let (watch, health) = health::watch(Watched {
        settings: settings.health.clone(),
        gpus: gpus.clone(),
        nvml_library: settings.nvml_library.clone(),
        spool: settings.spool.clone(),
        cgroup,
        probe_now,
        symptoms,
    });
    let controllers: Vec<_> = settings.controllers.iter().map(endpoint).collect();
    let (renewal, key_generations) = Renewal::of(&settings, credentials, &identity, &controllers);
    let parts = NodeRuntime {
        controllers,
        info: NodeInfo {
            name: settings.name.clone(),
            address: settings.address.clone(),
            identity: spool.identity().to_owned(),
            inventory: Arc::new(inventory),
        },
        allow_root: settings.allow_root_jobs,
        timing: SessionTiming::default(),
        health,
        data: data_dirs::watch(settings.data_dirs.clone()),
        steps: Some(steps.clone()),
        leader_contact: Some(LeaderContact::new(&settings.spool)),
        measurements: Measurements { replicas, replica_loads, router_load, idle_gpus },
        routes,
        key_generations,
    };
    let held = steps.status();
    let measuring = Measuring::new(accounting::opener(settings.nvml_library.clone()));
    let prober = Prober::new(steps.clone(), published_replicas, published_loads, measuring);
    let sampling = accounting::run(steps.clone(), settings.sampling.clone(), published_idle);
    let job_files = gpu_jobs::run(steps.clone(), settings.gpu_jobs_dir, gpus.clone());
    let mut running = parts.start(StepExecutor { steps, gpus }, prober, held, changes, listener);
    running.spawn(sampling);
    running.spawn(job_files);
    running.spawn(renewal.run());
    running.spawn(serve_router);
    running.spawn(watch);
    notify::ready();
    tokio::select! {
        () = stop.wait() => {}
        _ = running.join_next() => return Err(DaemonError::PartEnded),
    }
    tracing::info!("stopping kantd; jobs on this node run on");
    notify::stopping();
    // Closes the session and removes the socket in order.
    running.shutdown().await;
    Ok(())
}

async fn probe(settings: &Settings) -> Result<NodeProbe, DaemonError> {
    let probed = settings.clone();
    let probed = spawn_blocking(move || probe_node(&probed)).await;
    Ok(probed.map_err(|_| DaemonError::PartEnded)??)
}

fn steps_settings(settings: &Settings, cgroup: &CgroupParent, rules: StepRules) -> StepsSettings {
    StepsSettings {
        spool: settings.spool.clone(),
        node: settings.name.clone(),
        cgroup: cgroup.clone(),
        allow_root: settings.allow_root_jobs,
        rules,
        program: StepsSettings::own_program(),
        starts: StartLimits::default(),
        ports: settings.service_ports.clone(),
    }
}

/// The node's settings for all its steps.
fn step_rules(settings: &Settings, private_dirs: Vec<PathBuf>, containers: Offer) -> StepRules {
    StepRules {
        private_dirs,
        containers,
        owners: settings.owners,
        processes_max: settings.processes_max,
        prolog: settings.prolog.clone(),
        epilog: settings.epilog.clone(),
        task_prolog: settings.task_prolog.clone(),
        hook_limit: settings.hook_limit,
        kantctl: settings.kantctl.clone().or_else(find_kantctl),
        socket: settings.socket.clone(),
        leader_contact: Some(LeaderContact::path(&settings.spool)),
    }
}

/// Carries out the runner's actions on real steps.
struct StepExecutor {
    steps: Steps,
    gpus: Vec<Gpu>,
}

impl Executor for StepExecutor {
    fn launch(&self, order: LaunchOrder) {
        self.steps.launch(order, &self.gpus);
    }
    fn start_ready_step(&self, id: AttemptId) {
        self.steps.start_ready_step(id);
    }
    fn suspend(&self, id: AttemptId) {
        self.steps.suspend(id);
    }
    fn resume(&self, id: AttemptId) {
        self.steps.resume(id);
    }
    fn limit(&self, id: AttemptId, limit: Span) {
        self.steps.limit(id, limit);
    }
    fn resize(&self, id: AttemptId, resized: Resized) {
        self.steps.resize(id, resized);
    }
    fn stop(&self, id: AttemptId) {
        self.steps.stop(id);
    }
    fn forget(&self, id: AttemptId) {
        self.steps.forget(id);
    }
}

#[derive(Debug)]
pub struct StopSignals {
    term: Signal,
    int: Signal,
}

impl StopSignals {
    /// Starts to listen.
    ///
    /// # Errors
    /// [`DaemonError::Io`].
    pub fn listen() -> Result<Self, DaemonError> {
        let listen = |kind| {
            signal(kind).map_err(|source| DaemonError::Io { verb: "listen for signals", source })
        };
        Ok(Self { term: listen(SignalKind::terminate())?, int: listen(SignalKind::interrupt())? })
    }

    /// Returns when the first signal arrives.
    pub async fn wait(mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}

fn load_credentials(settings: &Settings) -> Result<Credentials, DaemonError> {
    let name = settings.name.clone();
    match Credentials::load(&settings.spool) {
        Ok(credentials) if credentials.name == name => Ok(credentials),
        Ok(credentials) => Err(DaemonError::OtherName { theirs: credentials.name, ours: name }),
        Err(CredentialsError::Missing { .. }) => {
            Err(DaemonError::NotEnrolled { name: name.to_string() })
        }
        Err(error) => Err(error.into()),
    }
}

/// Looks next to kantd, then in the usual directories.
fn find_kantctl() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|dir| dir.join("kantctl"));
    let usual = ["/usr/local/bin/kantctl", "/usr/bin/kantctl"].map(PathBuf::from);
    beside.into_iter().chain(usual).find(|path| path.is_file())
}

fn listen(path: &Path) -> Result<LocalListener, DaemonError> {
    if let Some(directory) = path.parent() {
        net::make_passable_dir(directory)
            .map_err(|source| DaemonError::Io { verb: "make the socket's directory", source })?;
    }
    Ok(LocalListener::bind(path)?)
}

/// Logs what this node is and offers, and what it cannot enforce.
fn log_start(settings: &Settings, credentials: &Credentials, inventory: &Inventory, steps: &Steps) {
    tracing::info!(
        node = %settings.name,
        version = env!("CARGO_PKG_VERSION"),
        controllers = settings.controllers.join(" "),
        certificate_until = %credentials.until,
        "kantd starts"
    );
    tracing::info!(
        cpus = %inventory.cpus,
        memory = %inventory.memory,
        gpus = inventory.gpus.len(),
        steps_adopted = steps.status().len(),
        "offering"
    );
    for sentence in &inventory.limits_missing {
        tracing::warn!("not enforced here: {sentence}");
    }
}
