//! Reloading of the configuration in a running controller. An invalid one changes nothing, and keys
//! that are read only at startup are reported.

use crate::accepted_jwts;
use crate::access::Access;
use crate::core::{CommandError, Core};
use crate::settings::{
    self, ConfigFile, FileError, SettingsError, changes, needing_restart, settings,
};
use common::causes::with_causes;
use common::config::ControllerConfig;
use common::config::policy::{Capacity, open_access_warnings, warnings as policy_warnings};
use common::policy::queue::Queue;
use common::rules_level::RulesLevel;
use common::wire::api::{QueueHeld, QueueList, ReloadAnswer};
use query::view;
use state::{Command, Settings, State};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::sync::Mutex;

/// Why the configuration was not reloaded. The old one stays in force.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The file existed before.
    #[error(
        "failed to read configuration {0}: the file is missing; restore it, or restart kantctld to \
         use the defaults"
    )]
    Gone(String),
    /// The log or the state refused the settings.
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("failed to read the configuration: the controller is stopping")]
    Stopping(#[from] tokio::task::JoinError),
}

/// Reloads the configuration, one reload at a time.
pub struct Reloader {
    core: Arc<Core>,
    /// The path from the command line.
    named: Option<PathBuf>,
    at_start: ControllerConfig,
    in_force: Mutex<OwnSettings>,
    /// Of the configuration in force; read while a reload waits for the log.
    rules_level_max: AtomicU8,
}

/// This controller's configuration as last read.
struct OwnSettings {
    file: ConfigFile,
    settings: Settings,
}

impl Reloader {
    /// For a controller that runs with this configuration.
    #[must_use]
    pub fn new(core: Arc<Core>, file: ConfigFile, settings: Settings) -> Arc<Self> {
        let named = file.named.then(|| file.path.clone());
        let at_start = file.config.clone();
        Arc::new(Self {
            core,
            named,
            at_start,
            rules_level_max: AtomicU8::new(file.config.rules_level_max),
            in_force: Mutex::new(OwnSettings { file, settings }),
        })
    }

    /// Reads the configuration, puts it in force from the next round on, and logs the outcome.
    ///
    /// # Errors
    /// [`ReloadError`]; then nothing has changed.
    pub async fn reload(&self) -> Result<ReloadAnswer, ReloadError> {
        let answer = self.reload_as(true).await;
        match &answer {
            Ok(answer) => log_reload(answer),
            Err(error) => log_failure(error),
        }
        answer
    }

    /// Reads the configuration on a controller that does not lead: its access rules change, and the
    /// settings in the log stay. Logs the outcome and returns whether it succeeded.
    pub async fn reload_access_rules(&self) -> bool {
        let answer = self.reload_as(false).await;
        match &answer {
            Ok(answer) => {
                log_reload(answer);
                tracing::warn!(
                    "this controller does not lead, so the settings in force stay: \
                     `kantctl reload` puts the leader's configuration in force"
                );
            }
            Err(error) => log_failure(error),
        }
        answer.is_ok()
    }

    /// Called when this controller starts to lead. A single controller puts its configuration in
    /// force if it differs from the settings in the log. With several controllers the settings in
    /// the log stay, so that a change of leader does not change them.
    ///
    /// # Errors
    /// If the log or the state refuses the settings.
    pub async fn begin_leading(&self, is_lone: bool) -> Result<(), CommandError> {
        let in_force = self.in_force.lock().await;
        let own = &in_force.settings;
        let differs = match self.core.state.read().settings() {
            None => true,
            Some(settings) if settings == own => return Ok(()),
            Some(_) => is_lone,
        };
        if !differs {
            tracing::warn!(
                "configuration {} differs from the settings in force, which stay: \
                 `kantctl reload` puts it in force",
                in_force.file.name()
            );
            return Ok(());
        }
        self.core.propose_command(Command::Configure(own.clone())).await?;
        tracing::info!("new settings from the configuration file are in force");
        Ok(())
    }

    /// The level above which this controller does not raise the rules level.
    pub fn rules_level_max(&self) -> Option<RulesLevel> {
        let limit = self.rules_level_max.load(Ordering::Relaxed);
        (limit > 0).then_some(RulesLevel(limit))
    }

    async fn reload_as(&self, puts_in_force: bool) -> Result<ReloadAnswer, ReloadError> {
        // Held to the end: concurrent reloads would report each other's changes.
        let mut in_force = self.in_force.lock().await;
        let named = self.named.clone();
        // File reads and user lookups may block.
        let read = tokio::task::spawn_blocking(move || read(named)).await??;
        let (file, settings, access) = read;
        if in_force.file.found && !file.found {
            return Err(ReloadError::Gone(file.name()));
        }
        if puts_in_force {
            self.core.propose_command(Command::Configure(settings.clone())).await?;
        }
        self.core.set_access(access);
        self.core.wake.notify_one();
        let mut changed = changes(&in_force.file.config, &file.config);
        if in_force.file.topology != file.topology {
            changed.push("topology_file: positions of nodes changed".to_owned());
        }
        let answer = ReloadAnswer {
            file: file.name(),
            of: None,
            changed,
            restart: needing_restart(&self.at_start, &file.config),
            warnings: self.warnings(),
        };
        self.rules_level_max.store(file.config.rules_level_max, Ordering::Relaxed);
        *in_force = OwnSettings { file, settings };
        Ok(answer)
    }

    /// Likely mistakes in the settings in force.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let state = self.core.state.read();
        let nodes = state.nodes().map(|(name, node)| (name, &*node.inventory));
        let capacity = Capacity::of(nodes);
        let Some(policy) = state.settings().map(Settings::policy) else { return Vec::new() };
        let mut warnings = removed_queue_warnings(&state);
        warnings.extend(open_access_warnings(&policy, state.reservations()));
        warnings.extend(policy_warnings(&policy, &capacity));
        warnings
    }
}

/// A warning for each queue that was removed from the configuration and still has jobs.
fn removed_queue_warnings(state: &State) -> Vec<String> {
    let QueueList { queues, held } = view::queue_list(state);
    let closing = queues.iter().filter_map(|queue| Some((queue, held.get(&queue.name)?)));
    let warnings = |(queue, held): (&Queue, &QueueHeld)| {
        format!(
            "queue {} is no longer configured: {} of its jobs wait and {} run; they continue, and \
             it accepts no new jobs. `kantctl cancel --queue={}` ends them",
            queue.name, held.waiting, held.running, queue.name
        )
    };
    closing.filter(|(_, held)| held.closing).map(warnings).collect()
}

type Read = (ConfigFile, Settings, Access);

fn read(named: Option<PathBuf>) -> Result<Read, ReloadError> {
    let file = ConfigFile::read(named.as_deref())?;
    file.check_trusted()?;
    settings::check(&file.config)?;
    let (settings, access) = (settings(&file)?, Access::from_config(&file.config)?);
    Ok((file, settings, access))
}

fn log_failure(error: &ReloadError) {
    let why = with_causes(error);
    tracing::error!("the configuration was not reloaded, the old one stays: {why}");
}

/// Logs the outcome of a reload.
fn log_reload(answer: &ReloadAnswer) {
    let unchanged = if answer.changed.is_empty() { ": nothing changed" } else { "" };
    tracing::info!("read configuration {} again{unchanged}", answer.file);
    for change in &answer.changed {
        tracing::info!("configuration: {change}");
    }
    for key in &answer.restart {
        tracing::warn!("configuration: `{key}` differs and needs a restart of kantctld");
    }
    for warning in &answer.warnings {
        tracing::warn!("configuration: {warning}");
    }
}
/// Reads the keys of JSON Web Tokens again when their files change.
pub async fn follow_jwt_keys(core: Arc<Core>) {
    loop {
        tokio::time::sleep(accepted_jwts::LOOK_PERIOD).await;
        if let Some(jwts) = core.access().jwts.clone() {
            // An error means that the controller stops.
            let _ = tokio::task::spawn_blocking(move || jwts.read_again()).await;
        }
    }
}
