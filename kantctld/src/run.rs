//! Startup and shutdown: puts a controller together and runs it until a signal or a fatal error.

mod leadership_transfer;
mod listeners;

use crate::access::Access;
use crate::audit::{self, AuditLine, AuditResult};
use crate::backups::{self, BackupPlan};
use crate::bootstrap::{self, BootstrapError, OpenedLog};
use crate::clock::{SteadyClock, wall_clock};
use crate::cluster_keys::{KeyStore, KeyStoreError};
use crate::core::{Core, Recorders, Trust};
use crate::history::{self, HistoryOptions};
use crate::history_catch_up;
use crate::key_rotation;
use crate::leader::{self, Limits};
use crate::mail::MailQueue;
use crate::membership::{self, LogStage, Membership, MembershipError};
use crate::peers;
use crate::raft::LogError;
use crate::reload::{self, Reloader};
use crate::session::NodeThreads;
use crate::settings::{self, ConfigFile, SettingsError};
use crate::shared_state::SharedState;
use crate::state_machine::{Outlets, StateMachine, StateNews};
use common::causes::with_causes;
use common::config::ControllerConfig;
use common::id::{ClusterId, LogIndex};
use common::reason::Refusal;
use common::time::Span;
use leadership_transfer::transfer_leadership;
use listeners::{Listening, listen};
use net::{ClusterKey, ClusterKeys, KeyError, ListenError};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// How long a single voter may replay its log before a warning is logged.
const LEAD_NOTICE: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("failed to use the configuration")]
    Settings(#[from] SettingsError),
    #[error("failed to put the configuration in force")]
    Configure(#[source] Refusal),
    #[error("failed to make {path}: give kantctld the right to, or set another in kantctld.toml")]
    Directory {
        path: String,
        #[source]
        source: io::Error,
    },
    /// Which cluster the state directory belongs to is not known.
    #[error(transparent)]
    Membership(#[from] MembershipError),
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    #[error(
        "the cluster key {path} is missing: copy it from another controller, owner and mode \
         included. If none has it, `kantctld found-key` makes a new one, and all nodes must join \
         again"
    )]
    NoKey { path: String },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Keys(#[from] KeyStoreError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("http_certificate and http_key belong together: set both in kantctld.toml, or neither")]
    HalfCertificate,
    #[error(transparent)]
    Log(#[from] LogError),
    /// A defect.
    #[error("the log's thread ended unexpectedly: please report this with the lines above")]
    LogPanicked,
    #[error("failed to serve")]
    Serve(#[from] io::Error),
}

/// Runs until SIGTERM or SIGINT; `nodes` are the threads for node sessions.
///
/// # Errors
/// [`RunError`].
pub async fn run(file: ConfigFile, nodes: NodeThreads) -> Result<(), RunError> {
    // First: an unhandled SIGHUP would end the process.
    let hangup = signal(SignalKind::hangup())?;
    let config = &file.config;
    let settings = settings::settings(&file)?;
    let access = Access::from_config_at_start(config)?;
    file.check_trusted()?;
    // Before the key, which is generated only where a new cluster is founded.
    let start = membership::examine_state_dir(config, ClusterId(fastrand::u64(1..)))?;
    let is_new = start.membership.log == LogStage::ToFound;
    if is_new {
        make_cluster_key(config)?;
    }
    let keys = Arc::new(cluster_keys(config)?);
    let identity = keys.identity().clone();

    let (news_in, news) = mpsc::unbounded_channel();
    let (applied, applied_seen) = watch::channel(LogIndex(0));
    let (leading, leading_seen) = watch::channel(false);
    let clock = Arc::new(SteadyClock::new(wall_clock));
    let ((history, inbox), mail) =
        (history::feed_channel(), MailQueue::start(settings::mailer(config)?));
    let outlets = Outlets { news: news_in, applied, leading, history, mail: mail.clone() };
    let (machine, state) = StateMachine::new(clock.clone(), outlets);
    let membership_file = start.file.clone();
    let OpenedLog { peers, thread } = bootstrap::open_log(config, start, identity, machine)?;
    let (cluster, id) = (peers.local.cluster, peers.local.id);
    let (history, history_thread) =
        history::start(inbox, history_options(config, cluster, &state))?;
    let (audit, audit_thread) = audit::start(config)?;
    let recorders = Recorders { history, mail, audit };
    let trust = Trust { access, keys };
    let core = Core::new(state, peers.clone(), applied_seen, leading_seen, trust, clock, recorders);
    audit_note(&core, "kantctld", "start", AuditResult::Done);

    let membership = Membership { cluster, id, log: LogStage::Began };
    let mut log_end = tokio::task::spawn_blocking(move || match thread.join() {
        Ok(result) => {
            // A restart would vote again before this is found again.
            let unusable = match &result {
                Err(LogError::Lost(_)) => Some(LogStage::Lost),
                Err(LogError::Differs { .. }) => Some(LogStage::Differs),
                _ => None,
            };
            let marked = unusable
                .map_or(Ok(()), |log| membership_file.write(&Membership { log, ..membership }));
            if let (Err(error), Err(_)) = (&result, &marked) {
                tracing::error!("{}", with_causes(error));
            }
            marked?;
            result.map_err(RunError::from)
        }
        Err(_) => Err(RunError::LogPanicked),
    });
    let reloader = Reloader::new(core.clone(), file.clone(), settings);
    let listening = Listening { reloader, peers, nodes };
    let served = tokio::select! {
        served = serve(&file.config, &core, listening, news, hangup) => served,
        ended = &mut log_end => return ended.unwrap_or(Err(RunError::LogPanicked)),
    };
    // The log stops last: pending proposals are still answered.
    core.log.stop();
    log_end.await.unwrap_or(Err(RunError::LogPanicked))?;
    audit_note(&core, "kantctld", "stop", AuditResult::Done);
    // Nothing is applied any more. An error here is a panic, which has already been printed.
    let stopped = tokio::task::spawn_blocking(|| (history_thread.stop(), audit_thread.stop()));
    let _ = stopped.await;
    served
}

/// Writes an audit line for an action that is not a request.
fn audit_note(core: &Core, via: &str, verb: &str, result: AuditResult) {
    core.audit.note(AuditLine::for_own_action(core.now(), via, verb, result));
}

fn history_options<'a>(
    config: &'a ControllerConfig,
    cluster: ClusterId,
    state: &SharedState,
) -> HistoryOptions<'a> {
    let seconds = config.accounting_kept_days.saturating_mul(86_400);
    HistoryOptions {
        state_dir: Path::new(&config.state_dir),
        cluster,
        kept: (seconds > 0).then(|| Span::from_seconds(seconds)),
        state: state.clone(),
    }
}

/// The cluster key.
///
/// # Errors
/// [`RunError::NoKey`] if it is missing. Another one would be that of another cluster.
fn cluster_keys(config: &ControllerConfig) -> Result<KeyStore, RunError> {
    let path = Path::new(&config.cluster_key);
    if !path.exists() {
        return Err(RunError::NoKey { path: path.display().to_string() });
    }
    let keys = KeyStore::open(path)?;
    tracing::info!("cluster key {}", keys.held_keys().keys.issuing.fingerprint());
    Ok(keys)
}

/// Generates the cluster key if there is none: for a new cluster, or a restored one.
///
/// # Errors
/// [`RunError`].
pub fn make_cluster_key(config: &ControllerConfig) -> Result<(), RunError> {
    let path = Path::new(&config.cluster_key);
    if !path.exists() {
        if let Some(parent) = path.parent() {
            make_dir(parent)?;
        }
        ClusterKeys::new(ClusterKey::generate()?).create_file(path)?;
        tracing::info!("made a new cluster key, {}", path.display());
    }
    Ok(())
}

fn make_dir(path: &Path) -> Result<(), RunError> {
    let failed = |source| RunError::Directory { path: path.display().to_string(), source };
    net::make_passable_dir(path).map_err(failed)
}

/// Listens, leads while the log says so, and returns on a signal.
async fn serve(
    config: &ControllerConfig,
    core: &Arc<Core>,
    listening: Listening,
    news: mpsc::UnboundedReceiver<StateNews>,
    hangup: Signal,
) -> Result<(), RunError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut stop_signal = std::pin::pin!(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    });
    let (stop, stopping) = watch::channel(false);
    let (reloader, peers) = (listening.reloader.clone(), listening.peers.clone());
    let servers = listen(config, core, listening, &stopping).await?;
    let tasks = [
        tokio::spawn(peers::maintain_connections(peers.clone())),
        tokio::spawn(leader::forward_effects(core.clone(), news)),
        tokio::spawn(reload_on_hangup(core.clone(), reloader.clone(), hangup)),
        tokio::spawn(notify_ready(core.clone())),
        tokio::spawn(key_rotation::follow_log(core.clone())),
        tokio::spawn(reload::follow_jwt_keys(core.clone())),
        tokio::spawn(history_catch_up::fill_gaps(core.history.clone(), peers.clone())),
    ];
    let plan = BackupPlan::from_config(config, &core.peers.local);
    let backups = plan.map(|plan| tokio::spawn(backups::run(core.clone(), plan)));
    let pace = leader::Pace {
        round_period: Duration::from_secs(config.round_period_seconds.max(1)),
        limits: Limits { node_lost_after: Span::from_seconds(config.node_lost_after_seconds) },
    };
    // A full disk can block the leader; signals must be handled all the same.
    let ended = tokio::select! {
        refused = leader::run_terms(core.clone(), reloader, pace) => match refused {
            Err(refusal) => Err(RunError::Configure(refusal)),
            Ok(never) => match never {},
        },
        () = &mut stop_signal => Ok(()),
    };
    tracing::info!("stopping");
    transfer_leadership(&core.log).await;
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
    stop.send_replace(true);
    for server in servers {
        let _ = server.await;
    }
    tasks.iter().chain(&backups).for_each(JoinHandle::abort);
    ended
}

/// Notifies systemd when this controller is ready: a single controller once it serves, one of
/// several at once, because the others may be waiting for its vote.
async fn notify_ready(core: Arc<Core>) {
    while core.is_only_controller() {
        match tokio::time::timeout(LEAD_NOTICE, core.wait_to_serve()).await {
            Ok(()) => break,
            Err(_) => tracing::warn!("still reading the log"),
        }
    }
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    tracing::info!("ready");
}

/// Reloads on SIGHUP, as sent by `systemctl reload`.
async fn reload_on_hangup(core: Arc<Core>, reloader: Arc<Reloader>, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        // The outcome is logged.
        let is_reloaded = match core.is_serving() {
            true => reloader.reload().await.is_ok(),
            false => reloader.reload_access_rules().await,
        };
        let result = if is_reloaded { AuditResult::Done } else { AuditResult::Refused };
        audit_note(&core, "signal", "reload", result);
    }
}
