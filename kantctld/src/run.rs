//! Puts a controller together and runs it until it is told to stop, or cannot go on.
//! Wiring only: never decides anything.

use crate::clock::{SteadyClock, wall_clock};
use crate::core::{CommandError, Core};
use crate::leader::{self, Limits};
use crate::machine::{Outlets, StateMachine};
use crate::raft::{self, LogError};
use crate::settings::{self, ConfigFile, Reloader, SettingsError};
use crate::{api, core};
use axum::Extension;
use common::config::ControllerConfig;
use common::id::LogIndex;
use net::{ClusterKey, Identity, KeyError, ListenError, LocalListener, Role, TlsListener};
use state::{Command, Settings};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use wal::{Options, RealDisk};

/// The only voter of a single controller.
const LONE_VOTER: u64 = 1;
/// How long a lone voter may take to replay its log and lead, before it says so.
const LEAD_NOTICE: Duration = Duration::from_secs(10);

/// Why a controller did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration makes no sense.
    #[error("failed to use the configuration")]
    Settings(#[from] SettingsError),
    /// The replicated state does not take the settings.
    #[error("failed to put the configuration in force")]
    Configure(#[source] CommandError),
    /// A directory.
    #[error("failed to make {path}: give kantctld the right to, or set another in kantctld.toml")]
    Directory {
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The state directory's files.
    #[error("failed to open the state directory {path}")]
    StateDir {
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The cluster key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A certificate could not be made from it.
    #[error(transparent)]
    Identity(#[from] net::IdentityError),
    /// A socket.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log's thread panicked: a defect.
    #[error("the log's thread ended unexpectedly: please report this with the lines above")]
    LogPanicked,
    /// Signals, or a server that ended.
    #[error("failed to serve")]
    Serve(#[from] io::Error),
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// [`RunError`].
pub async fn run(file: ConfigFile) -> Result<(), RunError> {
    // First: a signal that nobody listens to would end the process.
    let hangup = signal(SignalKind::hangup())?;
    let config = &file.config;
    let settings = settings::settings(&file)?;
    let operators = settings::operators(config)?;
    let identity = identity(config)?;
    make_dir(&config.state_dir, 0o700)?;

    let (events, applied_events) = mpsc::unbounded_channel();
    let (applied, applied_seen) = watch::channel(LogIndex(0));
    let (leading, leading_seen) = watch::channel(false);
    let clock = Arc::new(SteadyClock::new(wall_clock));
    let outlets = Outlets { events, applied, leading };
    let (machine, state) = StateMachine::new(clock.clone(), outlets);
    let log_dir = Path::new(&config.state_dir).join("log");
    let disk = RealDisk::open(&log_dir)
        .map_err(|source| RunError::StateDir { path: log_dir.display().to_string(), source })?;
    let options = Options { salt: fastrand::u64(..), ..Options::default() };
    let (log, thread) =
        raft::start(disk, options, LONE_VOTER, config.snapshot_every_entries, machine)?;
    let core = Core::new(state, log, applied_seen, leading_seen, operators, clock);

    let mut log_end = tokio::task::spawn_blocking(move || match thread.join() {
        Ok(result) => result.map_err(RunError::from),
        Err(_) => Err(RunError::LogPanicked),
    });
    let served = tokio::select! {
        served = serve(&file, core.clone(), settings, identity, applied_events, hangup) => served,
        ended = &mut log_end => return ended.unwrap_or(Err(RunError::LogPanicked)),
    };
    // The log last: what was acknowledged is on disk already, what was asked is still answered.
    core.log.stop();
    log_end.await.unwrap_or(Err(RunError::LogPanicked))?;
    served
}

fn identity(config: &ControllerConfig) -> Result<Identity, RunError> {
    let path = Path::new(&config.cluster_key);
    if !path.exists() {
        if let Some(parent) = path.parent() {
            make_dir(&parent.display().to_string(), 0o755)?;
        }
        ClusterKey::generate()?.save(path)?;
        tracing::info!("made a new cluster key, {}: copy it to every node", path.display());
    }
    let key = ClusterKey::load(path)?;
    tracing::info!("cluster key {}", key.fingerprint());
    Ok(Identity::new(&key, Role::Controller)?)
}

fn make_dir(path: &str, mode: u32) -> Result<(), RunError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    made.map_err(|source| RunError::Directory { path: path.to_owned(), source })
}

/// Leads, then serves, until a signal.
async fn serve(
    file: &ConfigFile,
    core: Arc<Core>,
    settings: Settings,
    identity: Identity,
    events: mpsc::UnboundedReceiver<Vec<state::Event>>,
    hangup: Signal,
) -> Result<(), RunError> {
    let config = &file.config;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut told_to_stop = std::pin::pin!(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    });
    tokio::select! {
        // A full disk can hold this up; a signal must be heard all the same.
        configured = lead_and_configure(&core, settings) => configured?,
        () = &mut told_to_stop => return Ok(()),
    }
    let reloader = Reloader::new(core.clone(), file.clone());
    for warning in reloader.warnings() {
        tracing::warn!("configuration: {warning}");
    }
    let tasks = [
        tokio::spawn(reload_on_hangup(reloader.clone(), hangup)),
        tokio::spawn(leader::pass_on(core.clone(), events)),
        tokio::spawn(leader::run_scheduler(
            core.clone(),
            Duration::from_secs(config.round_period_seconds.max(1)),
        )),
        tokio::spawn(leader::run_timers(
            core.clone(),
            Limits { node_lost_after: Duration::from_secs(config.node_lost_after_seconds) },
        )),
    ];
    let (stop, stopping) = watch::channel(false);
    let servers = listen(config, &core, reloader, &identity, &stopping).await?;
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    tracing::info!("ready");
    told_to_stop.await;
    tracing::info!("stopping");
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
    stop.send_replace(true);
    for server in servers {
        let _ = server.await;
    }
    tasks.iter().for_each(JoinHandle::abort);
    Ok(())
}

/// SIGHUP, as `systemctl reload` sends it.
async fn reload_on_hangup(reloader: Arc<Reloader>, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        // What came of it stands in the log.
        let _ = reloader.reload().await;
    }
}

async fn wait_to_lead(core: &Core) {
    let mut leading = core.leading.clone();
    loop {
        let wait = leading.wait_for(|leads| *leads);
        match tokio::time::timeout(LEAD_NOTICE, wait).await {
            Ok(_) => return,
            Err(_) => tracing::warn!("still reading the log"),
        }
    }
}

/// Leads, and puts this file's settings into the log if they differ from what is there. Settings
/// that the state refuses stop the start: going on with the old ones would be a silent default.
async fn lead_and_configure(core: &Core, settings: Settings) -> Result<(), RunError> {
    wait_to_lead(core).await;
    if core.state.read().settings() == Some(&settings) {
        return Ok(());
    }
    core.command(Command::Configure(settings)).await.map_err(RunError::Configure)?;
    tracing::info!("new settings from the configuration file are in force");
    Ok(())
}

async fn listen(
    config: &ControllerConfig,
    core: &Arc<core::Core>,
    reloader: Arc<Reloader>,
    identity: &Identity,
    stopping: &watch::Receiver<bool>,
) -> Result<Vec<JoinHandle<io::Result<()>>>, RunError> {
    let stopped = || {
        let mut stopping = stopping.clone();
        async move {
            // An error means that the sender is gone: then it is time, too.
            let _ = stopping.wait_for(|stop| *stop).await;
        }
    };
    if let Some(parent) = Path::new(&config.socket).parent() {
        make_dir(&parent.display().to_string(), 0o755)?;
    }
    let local = LocalListener::bind(Path::new(&config.socket))?;
    tracing::info!("listening on {}", config.socket);
    let router = api::router(core.clone()).layer(Extension(reloader));
    let mut servers = vec![tokio::spawn(net::serve(local, router.clone(), stopped()))];
    if !config.listen.is_empty() {
        let tls = TlsListener::bind(&config.listen, identity).await?;
        tracing::info!("listening on {} for nodes", tls.local_addr());
        servers.push(tokio::spawn(net::serve(tls, router, stopped())));
    }
    Ok(servers)
}
