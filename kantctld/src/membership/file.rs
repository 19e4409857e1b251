//! controller.toml in the state directory: whose it is, and how far its log has begun. Written
//! whole or not at all, and durably. Never changed once the log has begun, but for its loss.

use super::MembershipError;
use common::id::{ClusterId, ControllerId};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Its name in the state directory.
pub const FILE: &str = "controller.toml";
/// What is to become it.
const NEW: &str = "controller.toml.new";
const HEAD: &str =
    "# Which controller this directory belongs to. Written by kantctld; leave it as it is.\n";

/// How far the log has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogStage {
    /// It is to begin a new cluster.
    ToFound,
    /// It is to come from the leader.
    ToJoin,
    /// It is being made from a backup, which is not over: `kantctld restore` may come again.
    ToRestore,
    /// It has begun: should it be gone, something was lost.
    Began,
    /// The others hold of it what is not in it any more: it must not be gone on with.
    Lost,
}

/// Whose a state directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Membership {
    pub cluster: ClusterId,
    /// The controller's number in it.
    pub id: ControllerId,
    /// How far its log has begun.
    pub log: LogStage,
}

/// The file of one state directory.
#[derive(Debug, Clone)]
pub struct MembershipFile {
    dir: PathBuf,
}

impl MembershipFile {
    /// In this state directory, which is made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made, or others may change what is in it.
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

    /// Where the log is, or will be.
    #[must_use]
    pub fn log_dir(&self) -> PathBuf {
        self.dir.join("log")
    }

    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.dir.join(FILE)
    }

    /// What it says, if it is there.
    ///
    /// # Errors
    /// [`MembershipError`] when it cannot be read.
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

    /// Writes it, durably.
    ///
    /// # Errors
    /// [`MembershipError`]; then the old one is still there.
    pub fn write(&self, membership: &Membership) -> Result<(), MembershipError> {
        let path = self.path();
        self.replace(membership).map_err(MembershipError::io("write", &path))
    }

    /// Can what is here be written? For who is about to ask for what cannot be given back.
    ///
    /// # Errors
    /// [`MembershipError`] when it cannot.
    pub fn check_writable(&self) -> Result<(), MembershipError> {
        let new = self.dir.join(NEW);
        let wrote = File::create(&new).and_then(|file| file.sync_all());
        wrote.and_then(|()| fs::remove_file(&new)).map_err(MembershipError::io("write", &new))
    }

    /// Notes that the log has begun.
    ///
    /// # Errors
    /// The system's.
    pub fn note_began(&self, membership: &Membership) -> io::Result<()> {
        if membership.log == LogStage::Began {
            return Ok(());
        }
        self.replace(&Membership { log: LogStage::Began, ..*membership })
    }

    /// Notes that a part of the log is lost.
    ///
    /// # Errors
    /// [`MembershipError`].
    pub fn note_lost(&self, membership: &Membership) -> Result<(), MembershipError> {
        self.write(&Membership { log: LogStage::Lost, ..*membership })
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

    /// Is there a log, or a part of one?
    ///
    /// # Errors
    /// [`MembershipError`] when its directory cannot be read.
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
