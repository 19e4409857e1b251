//! Reading the configuration again while the controller runs. A bad one changes nothing.
//! Never takes up a key that is read at start only; it says which those are.

use super::{ConfigFile, FileError, SettingsError, changes, needing_restart, settings};
use crate::access::Access;
use crate::core::{CommandError, Core};
use common::config::ControllerConfig;
use common::config::policy::{Capacity, open_access_warnings, warnings};
use common::queue::Queue;
use common::wire::api::{QueueHeld, QueueList, ReloadAnswer};
use state::{Command, Settings, State, view};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Why the configuration was not taken up. What was in force still is.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// A file does not read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It makes no sense.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// There was a file, and now there is none.
    #[error(
        "failed to read configuration {0}: it is gone; put it back, or restart kantctld to run \
         with the defaults"
    )]
    Gone(String),
    /// The log or the state did not take it.
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("failed to read the configuration: the controller stops")]
    Stopping(#[from] tokio::task::JoinError),
}

/// Reads the configuration again when told to, one at a time.
pub struct Reloader {
    core: Arc<Core>,
    /// As named on the command line.
    named: Option<PathBuf>,
    at_start: ControllerConfig,
    in_force: Mutex<Own>,
}

/// What this controller's file says, as last read.
struct Own {
    file: ConfigFile,
    settings: Settings,
}

impl Reloader {
    /// For a controller that runs with this configuration.
    #[must_use]
    pub fn new(core: Arc<Core>, file: ConfigFile, settings: Settings) -> Arc<Self> {
        let named = file.named.then(|| file.path.clone());
        let at_start = file.config.clone();
        Arc::new(Self { core, named, at_start, in_force: Mutex::new(Own { file, settings }) })
    }

    /// Reads the configuration and puts it in force, and tells the log how that went. The next
    /// round obeys it.
    ///
    /// # Errors
    /// [`ReloadError`]; then nothing has changed.
    pub async fn reload(&self) -> Result<ReloadAnswer, ReloadError> {
        let answer = self.take_up(true).await;
        match &answer {
            Ok(answer) => log(answer),
            Err(error) => log_failure(error),
        }
        answer
    }

    /// The same for a controller that does not lead: it takes its file for its own, with who its
    /// operators are, and the settings in the log stay. How that went is in the log; true: well.
    pub async fn reread(&self) -> bool {
        let answer = self.take_up(false).await;
        match &answer {
            Ok(answer) => {
                log(answer);
                tracing::warn!(
                    "this controller does not lead, the settings in force stay: `kantctl reload` \
                     puts the leader's file in force"
                );
            }
            Err(error) => log_failure(error),
        }
        answer.is_ok()
    }

    /// This controller begins to lead. Alone, it puts its file in force if the log holds other
    /// settings. Among several the settings in the log stay: who happens to lead must change
    /// nothing.
    ///
    /// # Errors
    /// When the log or the state does not take the settings.
    pub async fn take_office(&self, is_lone: bool) -> Result<(), CommandError> {
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
        self.core.command(Command::Configure(own.clone())).await?;
        tracing::info!("new settings from the configuration file are in force");
        Ok(())
    }

    async fn take_up(&self, puts_in_force: bool) -> Result<ReloadAnswer, ReloadError> {
        // Held to the end: two reloads at once would tell each other's changes.
        let mut in_force = self.in_force.lock().await;
        let named = self.named.clone();
        // Files and the host's user database may block.
        let read = tokio::task::spawn_blocking(move || read(named)).await??;
        let (file, settings, access) = read;
        if in_force.file.found && !file.found {
            return Err(ReloadError::Gone(file.name()));
        }
        if puts_in_force {
            self.core.command(Command::Configure(settings.clone())).await?;
        }
        self.core.set_access(access);
        self.core.wake.notify_one();
        let mut changed = changes(&in_force.file.config, &file.config);
        if in_force.file.topology != file.topology {
            changed.push("topology_file: other positions of nodes".to_owned());
        }
        let answer = ReloadAnswer {
            file: file.name(),
            of: None,
            changed,
            restart: needing_restart(&self.at_start, &file.config),
            warnings: self.warnings(),
        };
        *in_force = Own { file, settings };
        Ok(answer)
    }

    /// What is probably not meant, of what is in force.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let state = self.core.state.read();
        let nodes = state.nodes().map(|(name, node)| (name, &*node.inventory));
        let capacity = Capacity::of(nodes);
        let Some(policy) = state.settings().map(Settings::policy) else { return Vec::new() };
        let mut told = closing(&state);
        told.extend(open_access_warnings(&policy, state.reservations()));
        told.extend(warnings(&policy, &capacity));
        told
    }
}

/// Queues that are no longer configured and still have jobs.
fn closing(state: &State) -> Vec<String> {
    let QueueList { queues, held } = view::queue_list(state);
    let closing = queues.iter().filter_map(|queue| Some((queue, held.get(&queue.name)?)));
    let told = |(queue, held): (&Queue, &QueueHeld)| {
        format!(
            "queue {} is no longer configured: {} of its jobs wait and {} run; they go on, and it \
             takes no new ones. `kantctl cancel --queue={}` ends them",
            queue.name, held.waiting, held.running, queue.name
        )
    };
    closing.filter(|(_, held)| held.closing).map(told).collect()
}

type Read = (ConfigFile, Settings, Access);

fn read(named: Option<PathBuf>) -> Result<Read, ReloadError> {
    let file = ConfigFile::read(named.as_deref())?;
    file.check_trusted()?;
    super::check(&file.config)?;
    let (settings, access) = (settings(&file)?, Access::configured(&file.config)?);
    Ok((file, settings, access))
}

/// An error with its causes, in one line.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut sentences = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        sentences.push(error.to_string());
        cause = error.source();
    }
    // An error that only wraps another says the same.
    sentences.dedup();
    sentences.join(": ")
}

fn log_failure(error: &ReloadError) {
    let why = with_causes(error);
    tracing::error!("the configuration is not taken up, the old one stays: {why}");
}

/// Tells the log what a reload did.
fn log(answer: &ReloadAnswer) {
    let unchanged = if answer.changed.is_empty() { ": nothing changed" } else { "" };
    tracing::info!("read configuration {} again{unchanged}", answer.file);
    for change in &answer.changed {
        tracing::info!("configuration: {change}");
    }
    for key in &answer.restart {
        tracing::warn!("configuration: `{key}` differs and takes a restart of kantctld");
    }
    for warning in &answer.warnings {
        tracing::warn!("configuration: {warning}");
    }
}
