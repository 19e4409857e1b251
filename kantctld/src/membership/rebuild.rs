//! `kantctld rebuild`: after its log was lost or damaged, a controller gives up its id and joins
//! again under a new one, with a log from the others. The old log is moved aside, not deleted.

use super::join::{JoinOptions, request_membership};
use super::{Membership, MembershipError, MembershipFile};
use common::config::ControllerConfig;
use std::fs::{self, File};
use std::path::PathBuf;
use wal::{Disk, RealDisk};

/// Joins again, then moves the old log aside. Returns where it is now, if there was one. May be
/// repeated after a failure at any point: the cluster gives the same answer again.
///
/// # Errors
/// [`MembershipError`]; nothing has changed before the cluster has answered.
pub async fn rebuild(
    config: &ControllerConfig,
    options: &JoinOptions,
) -> Result<(Membership, Option<PathBuf>), MembershipError> {
    let file = MembershipFile::in_dir(&config.state_dir)?;
    let old = file.read()?;
    let path = || file.dir().display().to_string();
    if old.is_none() && !file.has_log()? {
        return Err(MembershipError::NothingToRebuild { path: path() });
    }
    let _held = lock_log(&file)?;
    file.check_writable()?;
    let joined = request_membership(config, options, old.map(|old| (old.cluster, old.id))).await?;
    let aside = move_aside(&file)?;
    // Last: otherwise the old log would be taken for the new member's.
    file.write(&joined)?;
    Ok((joined, aside))
}

/// Takes the lock that a running kantctld holds.
fn lock_log(file: &MembershipFile) -> Result<Option<File>, MembershipError> {
    let dir = file.log_dir();
    if !dir.exists() {
        return Ok(None);
    }
    let held = RealDisk::open(&dir).and_then(|disk| disk.lock("lock"));
    held.map(Some).map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => {
            MembershipError::Running { path: file.dir().display().to_string() }
        }
        _ => MembershipError::io("open", &dir)(error),
    })
}

fn move_aside(file: &MembershipFile) -> Result<Option<PathBuf>, MembershipError> {
    let dir = file.log_dir();
    if !dir.exists() {
        return Ok(None);
    }
    let free = |number: &u32| !file.dir().join(format!("log.lost-{number}")).exists();
    let number = (1..).find(free).unwrap_or_default();
    let aside = file.dir().join(format!("log.lost-{number}"));
    fs::rename(&dir, &aside).map_err(MembershipError::io("move aside", &dir))?;
    let synced = File::open(file.dir()).and_then(|dir| dir.sync_all());
    synced.map_err(MembershipError::io("sync", file.dir()))?;
    Ok(Some(aside))
}
