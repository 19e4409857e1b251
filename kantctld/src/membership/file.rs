//! `controller.toml` in the state directory: the controller's identity and the stage of its log.
//! Replaced atomically and durably. Once the log has begun it changes only when the log is lost.

use super::MembershipError;
use common::id::{ClusterId, ControllerId};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

pub const FILE: &str = "controller.toml";
/// The temporary file that replaces it.
const NEW: &str = "controller.toml.new";
const HEAD: &str =
    "# The controller that this directory belongs to. Written by kantctld; do not edit.\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogStage {
    /// To be started as the log of a new cluster.
    ToFound,
    /// To be received from the leader.
    ToJoin,
    /// Being restored from a backup; `kantctld restore` may be repeated.
    ToRestore,
    /// Begun: if it is missing, data was lost.
    Began,
    /// Damaged: other members rely on lost entries, so it must not be used.
    Lost,
    /// The state that follows from it here is not that of the other members.
    Differs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Membership {
    pub cluster: ClusterId,
    pub id: ControllerId,
    pub log: LogStage,
}

#[derive(Debug, Clone)]
pub struct MembershipFile {
    dir: PathBuf,
}

impl MembershipFile {
    /// In this state directory, which is created if missing.
    ///
    /// # Errors
    /// If it cannot be created, or other users may change its content.
    pub fn in_dir(dir: &str) -> Result<Self, MembershipError> {
        let dir = PathBuf::from(dir);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
        made.map_err(MembershipError::io("make", &dir))?;
        net::check_trusted("state_dir", &dir)?;
        Ok(Self { dir })
    }

    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    #[must_use]
    pub fn log_dir(&self) -> PathBuf {
        self.dir.join("log")
    }

    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.dir.join(FILE)
    }

    /// The membership, if the file exists.
    ///
    /// # Errors
    /// [`MembershipError`] if it cannot be read.
    pub fn read(&self) -> Result<Option<Membership>, MembershipError> {
        let path = self.path();
        match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).map(Some).map_err(|error| {
                let message = error.message().to_owned();
                MembershipError::Unreadable { path: path.display().to_string(), message }
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(MembershipError::io("read", &path)(error)),
        }
    }

    /// Replaces the file durably.
    ///
    /// # Errors
    /// [`MembershipError`]; the old file remains.
    pub fn write(&self, membership: &Membership) -> Result<(), MembershipError> {
        let path = self.path();
        self.replace(membership).map_err(MembershipError::io("write", &path))
    }

    /// Checks that the directory is writable, before an action that cannot be undone.
    ///
    /// # Errors
    /// [`MembershipError`] if it is not.
    pub fn check_writable(&self) -> Result<(), MembershipError> {
        let new = self.dir.join(NEW);
        let wrote = File::create(&new).and_then(|file| file.sync_all());
        wrote.and_then(|()| fs::remove_file(&new)).map_err(MembershipError::io("write", &new))
    }

    ///
    /// # Errors
    /// The system's.
    pub fn note_began(&self, membership: &Membership) -> io::Result<()> {
        if membership.log == LogStage::Began {
            return Ok(());
        }
        self.replace(&Membership { log: LogStage::Began, ..*membership })
    }

    fn replace(&self, membership: &Membership) -> io::Result<()> {
        let body = toml::to_string(membership).map_err(io::Error::other)?;
        let new = self.dir.join(NEW);
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(HEAD.as_bytes())?;
        file.write_all(body.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, self.path())?;
        File::open(&self.dir)?.sync_all()
    }

    /// Whether there is a log or a part of one.
    ///
    /// # Errors
    /// [`MembershipError`] if its directory cannot be read.
    pub fn has_log(&self) -> Result<bool, MembershipError> {
        let dir = self.log_dir();
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(MembershipError::io("read", &dir)(error)),
        };
        for entry in entries {
            let name = entry.map_err(MembershipError::io("read", &dir))?.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("log-") || name.starts_with("snapshot-") {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_membership_is_read_as_it_was_written_and_its_log_begins_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = MembershipFile::in_dir(&dir.path().join("state").display().to_string()).unwrap();
        assert_eq!(file.read().unwrap(), None);
        let first =
            Membership { cluster: ClusterId(u64::MAX), id: ControllerId(3), log: LogStage::ToJoin };
        file.write(&first).unwrap();
        assert_eq!(file.read().unwrap(), Some(first));
        file.note_began(&first).unwrap();
        assert_eq!(file.read().unwrap(), Some(Membership { log: LogStage::Began, ..first }));
    }

    #[test]
    fn a_file_that_does_not_read_stops_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let file = MembershipFile::in_dir(&dir.path().display().to_string()).unwrap();
        for text in ["", "id = 1", "cluster = \"x\"\nid = 1\nlog = \"began\"\n"] {
            fs::write(file.path(), text).unwrap();
            let error = file.read().unwrap_err().to_string();
            assert!(error.contains("controller.toml"), "{error}");
        }
    }
}
