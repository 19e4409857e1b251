//! Backups of a running controller: a copy of its state on request, and files that it writes by
//! itself, so that there is a recent one when all logs are lost. Each controller writes its own. A
//! file is read back before an older one is removed.

use crate::backup::{self, BackupError, Head};
use crate::clock::wall_clock;
use crate::core::Core;
use crate::disk_guard;
use crate::peers::LocalController;
use crate::release::RELEASE;
use common::causes::with_causes;
use common::config::ControllerConfig;
use common::time::{Span, Time};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use state::State;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often the controller looks whether a backup is due.
const LOOK_PERIOD: Duration = Duration::from_secs(10);
/// The wait after a failure.
const RETRY: Duration = Duration::from_secs(1800);
/// The time of a backup in its file's name, in UTC.
const TIME: &str = "%Y-%m-%dT%H%M%SZ";
/// Names of files are exact to a second.
const NAME_STEP: Span = Span::from_seconds(1);

/// Where, how often and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupPlan {
    pub dir: PathBuf,
    /// The beginning of the names of its files. Other controllers, and other clusters, may have
    /// theirs in the same directory.
    pub prefix: String,
    pub every: Span,
    /// Files that are kept; at least one.
    pub kept: usize,
    /// Space that must stay free on the disk.
    pub reserve_bytes: u64,
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("failed to write {path}")]
    File {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error(
        "the disk of {dir} has {free_mib} MiB left, and a backup needs {needed_mib} MiB: \
         free some, or set `backup_dir` to another disk"
    )]
    NoRoom { dir: String, free_mib: u64, needed_mib: u64 },
    #[error(transparent)]
    Encode(#[from] BackupError),
    #[error("{path} differs from what was written: check the disk")]
    ReadBack {
        path: String,
        #[source]
        source: BackupError,
    },
}

impl BackupPlan {
    /// The configured plan; `None` if the controller writes no backups.
    #[must_use]
    pub fn from_config(config: &ControllerConfig, own: &LocalController) -> Option<Self> {
        let every = Span::from_seconds(config.backup_every_hours.saturating_mul(3600));
        (every > Span(0)).then(|| Self {
            // An absolute path replaces the state directory.
            dir: Path::new(&config.state_dir).join(&config.backup_dir),
            prefix: format!("backup-{}-{}-", own.cluster, own.id),
            every,
            kept: config.backups_kept.max(1) as usize,
            reserve_bytes: config.disk_reserve_mib << 20,
        })
    }

    /// Is a backup due, if these exist? Not if nothing has changed since the newest one.
    fn is_due(&self, backups: &[Backup], changed: Time, now: Time) -> bool {
        // One from the future was made with a wrong clock.
        let past = backups.iter().filter(|backup| backup.at <= now);
        past.map(|backup| backup.at)
            .max()
            .is_none_or(|at| now.since(at) >= self.every && changed.since(at) >= NAME_STEP)
    }

    /// Writes a backup, reads it back, and removes the oldest files above the number to keep. Its
    /// name has the time of the state, which is past if this controller lags behind.
    fn write(&self, head: &Head, state: &State, now: Time) -> Result<PathBuf, WriteError> {
        let bytes = backup::to_bytes(head, state)?;
        let path = self.dir.join(format!("{}{}", self.prefix, time_text(state.now())));
        let part = self.unfinished_path();
        let written = self.write_whole(&bytes, &part, &path);
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written?;
        self.remove_oldest(&path, now).map_err(file_error(&self.dir))?;
        Ok(path)
    }

    /// A file that is not complete.
    fn unfinished_path(&self) -> PathBuf {
        self.dir.join(format!("{}unfinished", self.prefix))
    }

    fn write_whole(&self, bytes: &[u8], part: &Path, path: &Path) -> Result<(), WriteError> {
        self.check_room(bytes.len() as u64)?;
        write_synced(part, bytes).map_err(file_error(part))?;
        let read = fs::read(part).map_err(file_error(part))?;
        backup::from_bytes(&read).map_err(|source| {
            let path = part.display().to_string();
            WriteError::ReadBack { path, source }
        })?;
        fs::rename(part, path).map_err(file_error(path))?;
        File::open(&self.dir).and_then(|dir| dir.sync_all()).map_err(file_error(&self.dir))
    }

    /// Removes the oldest backups above the number to keep, but never this one. Those from the
    /// future, made with a wrong clock, count as the oldest.
    fn remove_oldest(&self, newest: &Path, now: Time) -> io::Result<()> {
        let mut others = self.list()?;
        others.retain(|backup| backup.path != newest);
        others.sort_by_key(|backup| (backup.at <= now, backup.at));
        let surplus = (others.len() + 1).saturating_sub(self.kept);
        others.iter().take(surplus).try_for_each(|old| fs::remove_file(&old.path))
    }

    /// Checks that backups can be written, so that an operator who reads the log at the start
    /// learns of it.
    fn check_dir(&self) -> Result<(), WriteError> {
        let part = self.unfinished_path();
        fs::create_dir_all(&self.dir).map_err(file_error(&self.dir))?;
        File::create(&part).and_then(|_| fs::remove_file(&part)).map_err(file_error(&part))
    }

    /// The log may be on the same disk, and needs its room.
    fn check_room(&self, bytes: u64) -> Result<(), WriteError> {
        let needed = bytes.saturating_mul(2).saturating_add(self.reserve_bytes);
        let free = disk_guard::free_bytes(&self.dir);
        match free >= needed {
            true => Ok(()),
            false => Err(WriteError::NoRoom {
                dir: self.dir.display().to_string(),
                free_mib: free >> 20,
                needed_mib: needed.div_ceil(1 << 20),
            }),
        }
    }

    /// The backups in the directory; other files there are not touched.
    fn list(&self) -> io::Result<Vec<Backup>> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut backups = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let rest = name.to_str().and_then(|name| name.strip_prefix(&self.prefix));
            let at = rest.and_then(time_from_text);
            backups.extend(at.map(|at| Backup { path: entry.path(), at }));
        }
        Ok(backups)
    }
}

struct Backup {
    path: PathBuf,
    at: Time,
}

fn time_text(at: Time) -> String {
    let seconds = i64::try_from(at.0 / 1000).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
    at.to_zoned(TimeZone::UTC).strftime(TIME).to_string()
}

fn time_from_text(text: &str) -> Option<Time> {
    let at = DateTime::strptime(TIME, text).ok()?.to_zoned(TimeZone::UTC).ok()?;
    u64::try_from(at.timestamp().as_millisecond()).ok().map(Time)
}

fn file_error(path: &Path) -> impl Fn(io::Error) -> WriteError {
    let path = path.display().to_string();
    move |source| WriteError::File { path: path.clone(), source }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The state as this controller has applied it, without stopping anything.
pub fn copy_state(core: &Core) -> (Head, State) {
    let members = core.log.status().borrow().members.clone();
    // Read before the copy, so that the copy includes this index.
    let applied = *core.applied.borrow();
    let (state, now) = (core.state.read().clone(), core.now());
    let head = Head {
        cluster: members.cluster,
        name: core.cluster_name(),
        last_controller: members.last,
        controllers: members.known.into_values().map(|member| member.address).collect(),
        applied,
        at: now,
        release: RELEASE.to_owned(),
    };
    (head, state)
}

/// Writes backups by this plan, until the controller stops.
pub async fn run(core: Arc<Core>, plan: BackupPlan) {
    *core.newest_backup.lock() = Some(Time::default());
    if let Err(error) = plan.check_dir() {
        tracing::error!("no backup can be made: {}", with_causes(&error));
    }
    let mut pause = LOOK_PERIOD;
    loop {
        tokio::time::sleep(pause).await;
        let (core, plan) = (core.clone(), plan.clone());
        // An error means that the controller stops.
        let written = tokio::task::spawn_blocking(move || write_if_due(&core, &plan)).await;
        pause = match written.unwrap_or(Ok(None)) {
            Ok(made) => {
                made.iter().for_each(|path| tracing::info!("made the backup {}", path.display()));
                LOOK_PERIOD
            }
            Err(error) => {
                tracing::error!("failed to make a backup: {}", with_causes(&error));
                RETRY
            }
        };
    }
}

fn write_if_due(core: &Core, plan: &BackupPlan) -> Result<Option<PathBuf>, WriteError> {
    let (is_empty, changed) = {
        let state = core.state.read();
        // Before it has settings, this controller has received nothing.
        (state.settings().is_none(), state.now())
    };
    let now = wall_clock().max(changed);
    let backups = plan.list().map_err(file_error(&plan.dir))?;
    let newest = backups.iter().map(|backup| backup.at).filter(|at| *at <= now).max();
    *core.newest_backup.lock() = Some(newest.unwrap_or_default());
    if is_empty || !plan.is_due(&backups, changed, now) {
        return Ok(None);
    }
    let (head, state) = copy_state(core);
    let head = Head { at: state.now(), ..head };
    let path = plan.write(&head, &state, now)?;
    *core.newest_backup.lock() = Some(head.at);
    Ok(Some(path))
}

#[cfg(test)]
mod tests;
