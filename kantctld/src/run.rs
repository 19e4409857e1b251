//! Puts a controller together and runs it until it is told to stop, or cannot go on.
//! Wiring only: never decides anything.

mod hand_over;

use crate::access::Access;
use crate::api;
use crate::audit::{self, AuditLine, AuditResult};
use crate::clock::{SteadyClock, wall_clock};
use crate::core::Core;
use crate::history::{self, Wanted};
use crate::leader::{self, Limits};
use crate::machine::{Outlets, SharedState, StateMachine};
use crate::mail;
use crate::membership::{self, LogStage, Membership, MembershipError};
use crate::opening::{self, Opened, OpeningError};
use crate::peers::{self, Peers};
use crate::raft::LogError;
use crate::room::Room;
use crate::session::{Make, NodeThreads};
use crate::settings::{self, ConfigFile, Reloader, SettingsError};
use axum::Extension;
use common::config::ControllerConfig;
use common::id::{ClusterId, LogIndex, Uid};
use common::reason::Refusal;
use common::time::Span;
use hand_over::hand_over;
use net::{ClusterKey, Identity, KeyError, ListenError, LocalListener, Role, TlsListener};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

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
    Configure(#[source] Refusal),
    #[error("failed to make {path}: give kantctld the right to, or set another in kantctld.toml")]
    Directory {
        path: String,
        #[source]
        source: io::Error,
    },
    /// Nobody said whose the state directory is to be.
    #[error(transparent)]
    Membership(#[from] MembershipError),
    /// The log could not be opened.
    #[error(transparent)]
    Opening(#[from] OpeningError),
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A certificate could not be made from it.
    #[error(transparent)]
    Identity(#[from] net::IdentityError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log's thread panicked: a defect.
    #[error("the log's thread ended unexpectedly: please report this with the lines above")]
    LogPanicked,
    /// Signals, or a server that ended.
    #[error("failed to serve")]
    Serve(#[from] io::Error),
}

/// Runs until SIGTERM or SIGINT; `nodes` are the threads for sessions with nodes.
///
/// # Errors
/// [`RunError`].
pub async fn run(file: ConfigFile, nodes: NodeThreads) -> Result<(), RunError> {
    // First: a signal that nobody listens to would end the process.
    let hangup = signal(SignalKind::hangup())?;
    let config = &file.config;
    let settings = settings::settings(&file)?;
    let access = Access::configured(config)?;
    file.check_trusted()?;
    // Before the key: one is made only where a cluster begins.
    let start = membership::at_start(config, ClusterId(fastrand::u64(1..)))?;
    let identity = identity(config)?;

    let (applied_events, events) = mpsc::unbounded_channel();
    let (applied, applied_seen) = watch::channel(LogIndex(0));
    let (leading, leading_seen) = watch::channel(false);
    let clock = Arc::new(SteadyClock::new(wall_clock));
    let ((history, inbox), mail) = (history::feed(), mail::open(settings::mailer(config)?));
    let outlets = Outlets { events: applied_events, applied, leading, history, mail: mail.clone() };
    let (machine, state) = StateMachine::new(clock.clone(), outlets);
    let membership_file = start.file.clone();
    let Opened { peers, thread } = opening::open(config, start, identity, machine)?;
    let (cluster, id) = (peers.me.cluster, peers.me.id);
    let (history, keeper) = history::start(inbox, accounting(config, cluster, &state))?;
    let log = peers.log.clone();
    let (audit, audit_keeper) = audit::start(config)?;
    let core =
        Core::new(state, log, applied_seen, leading_seen, access, clock, (history, mail, audit));
    note(&core, "kantctld", "start", AuditResult::Done);

    let whose = Membership { cluster, id, log: LogStage::Began };
    let mut log_end = tokio::task::spawn_blocking(move || match thread.join() {
        Ok(result) => {
            if let Err(LogError::Lost(_)) = &result {
                // A restart would vote again before the others say what is lost.
                membership_file.note_lost(&whose)?;
            }
            result.map_err(RunError::from)
        }
        Err(_) => Err(RunError::LogPanicked),
    });
    let reloader = Reloader::new(core.clone(), file.clone(), settings);
    let served = tokio::select! {
        served = serve(&file.config, &core, reloader, peers, events, (hangup, nodes)) => served,
        ended = &mut log_end => return ended.unwrap_or(Err(RunError::LogPanicked)),
    };
    // The log last: what was acknowledged is on disk already, what was asked is still answered.
    core.log.stop();
    log_end.await.unwrap_or(Err(RunError::LogPanicked))?;
    note(&core, "kantctld", "stop", AuditResult::Done);
    // Nothing is applied any more; an error is a panic, of which it tells itself.
    let stopped = tokio::task::spawn_blocking(|| (keeper.stop(), audit_keeper.stop()));
    let _ = stopped.await;
    served
}

/// What is no request has its line in the audit log, too.
fn note(core: &Core, via: &str, verb: &str, result: AuditResult) {
    core.audit.note(AuditLine::own(core.now(), via, verb, result));
}

/// What accounting is to know.
fn accounting<'a>(
    config: &'a ControllerConfig,
    cluster: ClusterId,
    state: &SharedState,
) -> Wanted<'a> {
    let seconds = config.accounting_kept_days.saturating_mul(86_400);
    Wanted {
        state_dir: Path::new(&config.state_dir),
        cluster,
        kept: (seconds > 0).then(|| Span::from_seconds(seconds)),
        state: state.clone(),
    }
}

/// What proves this controller to others; makes the cluster's key if there is none.
///
/// # Errors
/// [`RunError`].
pub fn identity(config: &ControllerConfig) -> Result<Identity, RunError> {
    let path = Path::new(&config.cluster_key);
    if !path.exists() {
        if let Some(parent) = path.parent() {
            make_dir(parent)?;
        }
        ClusterKey::generate()?.save(path)?;
        tracing::info!("made a new cluster key, {}: copy it to every node", path.display());
    }
    let key = ClusterKey::load(path)?;
    tracing::info!("cluster key {}", key.fingerprint());
    Ok(Identity::new(&key, Role::Controller)?)
}

fn make_dir(path: &Path) -> Result<(), RunError> {
    let failed = |source| RunError::Directory { path: path.display().to_string(), source };
    net::make_passable_dir(path).map_err(failed)
}

/// Listens, leads whenever the log says so, and ends with a signal.
async fn serve(
    config: &ControllerConfig,
    core: &Arc<Core>,
    reloader: Arc<Reloader>,
    peers: Arc<Peers<StateMachine>>,
    events: mpsc::UnboundedReceiver<Vec<state::Event>>,
    (hangup, nodes): (Signal, NodeThreads),
) -> Result<(), RunError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut told_to_stop = std::pin::pin!(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    });
    let (stop, stopping) = watch::channel(false);
    let servers = listen(config, core, reloader.clone(), &peers, (&stopping, nodes)).await?;
    let tasks = [
        tokio::spawn(peers::keep(peers.clone())),
        tokio::spawn(leader::pass_on(core.clone(), events)),
        tokio::spawn(reload_on_hangup(core.clone(), reloader.clone(), hangup)),
        tokio::spawn(say_ready(core.clone())),
        tokio::spawn(history::keep_up(core.history.clone(), peers.clone())),
    ];
    let pace = leader::Pace {
        round_period: Duration::from_secs(config.round_period_seconds.max(1)),
        limits: Limits { node_lost_after: Span::from_seconds(config.node_lost_after_seconds) },
    };
    // A full disk can hold the leader up; a signal must be heard all the same.
    let ended = tokio::select! {
        refused = leader::run_terms(core.clone(), reloader, pace) => match refused {
            Err(refusal) => Err(RunError::Configure(refusal)),
            Ok(never) => match never {},
        },
        () = &mut told_to_stop => Ok(()),
    };
    tracing::info!("stopping");
    hand_over(&core.log).await;
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
    stop.send_replace(true);
    for server in servers {
        let _ = server.await;
    }
    tasks.iter().for_each(JoinHandle::abort);
    ended
}

/// Tells systemd when this controller is of use: alone once it serves; among several at once, since
/// it votes, and the others may wait for that.
async fn say_ready(core: Arc<Core>) {
    while core.is_lone() {
        match tokio::time::timeout(LEAD_NOTICE, core.wait_to_serve()).await {
            Ok(()) => break,
            Err(_) => tracing::warn!("still reading the log"),
        }
    }
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    tracing::info!("ready");
}

/// SIGHUP, as `systemctl reload` sends it.
async fn reload_on_hangup(core: Arc<Core>, reloader: Arc<Reloader>, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        // What came of it stands in the log.
        let is_taken_up = match core.serves() {
            true => reloader.reload().await.is_ok(),
            false => reloader.reread().await,
        };
        let result = if is_taken_up { AuditResult::Done } else { AuditResult::Refused };
        note(&core, "signal", "reload", result);
    }
}

async fn listen(
    config: &ControllerConfig,
    core: &Arc<Core>,
    reloader: Arc<Reloader>,
    peers: &Arc<Peers<StateMachine>>,
    (stopping, nodes): (&watch::Receiver<bool>, NodeThreads),
) -> Result<Vec<JoinHandle<io::Result<()>>>, RunError> {
    let stopped = || {
        let mut stopping = stopping.clone();
        async move {
            // An error means that the sender is gone: then it is time, too.
            let _ = stopping.wait_for(|stop| *stop).await;
        }
    };
    if let Some(parent) = Path::new(&config.socket).parent() {
        make_dir(parent)?;
    }
    let (local, who) = (LocalListener::bind(Path::new(&config.socket))?, core.clone());
    let local = local.trusting(move |uid| who.actor(Uid(uid)).operator);
    tracing::info!("listening on {}", config.socket);
    let router = api::router(core.clone(), peers.clone()).layer(Extension(reloader));
    let router = router.layer(Extension(Arc::new(Room::new(config))));
    let router = router.layer(Extension(Make::wanted(config.emulated))).layer(Extension(nodes));
    let mut servers = vec![tokio::spawn(net::serve(local, router.clone(), stopped()))];
    if !config.listen.is_empty() {
        let tls = TlsListener::bind(&config.listen, &peers.identity).await?;
        tracing::info!("listening on {} for nodes", tls.local_addr());
        servers.push(tokio::spawn(net::serve(tls, router, stopped())));
    }
    Ok(servers)
}
