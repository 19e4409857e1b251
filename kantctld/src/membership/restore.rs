//! Restoring: an empty directory becomes the only controller of the cluster that a backup is of,
//! under a number that no controller had before. Never where a log is, and never from a backup that
//! does not read to its end.

use super::{LogStage, Membership, MembershipError, MembershipFile, advertised, name};
use crate::backup::{self, Head};
use common::config::ControllerConfig;
use common::id::ControllerId;
use replica::{Beginning, Member, Opening};
use std::fs::{self, File};
use std::path::Path;
use wal::{Options, RealDisk};

/// Where the log is made before it is put in its place.
const UNFINISHED: &str = "log.unfinished";

/// Makes the log; gives what the backup was of, and who this controller is. May be called again
/// after a crash.
///
/// # Errors
/// [`MembershipError`]; then there is no log.
pub fn restore(
    config: &ControllerConfig,
    backup: &Path,
) -> Result<(Head, Membership), MembershipError> {
    let bytes = fs::read(backup).map_err(MembershipError::io("read", backup))?;
    let (head, state) = backup::from_bytes(&bytes)?;
    let file = MembershipFile::in_dir(&config.state_dir)?;
    check_free(&file, &head)?;
    let id = ControllerId(head.last_controller.0 + 1);
    let membership = Membership { cluster: head.cluster, id, log: LogStage::Began };
    // A log without a membership would be taken for that of controller 1; the other way round, a
    // start says that the log is missing, and this command may come again.
    file.write(&membership)?;
    let unfinished = file.dir().join(UNFINISHED);
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(MembershipError::io("clear", &unfinished))?;
    }
    let address = advertised(config).to_owned();
    let opening = Opening {
        id,
        cluster: Some(head.cluster),
        beginning: Beginning::Restore {
            member: Member { name: name(config), address, becomes_voter: false },
            state,
        },
        snapshot_every: config.snapshot_every_entries,
        seed: 0,
        options: Options { salt: fastrand::u64(..), ..Options::default() },
    };
    let disk = RealDisk::open(&unfinished).map_err(MembershipError::io("make", &unfinished))?;
    replica::begin(disk, &opening)?;
    let log_dir = file.log_dir();
    if log_dir.exists() {
        // Without a log in it: a start that found none leaves a lock file.
        fs::remove_dir_all(&log_dir).map_err(MembershipError::io("clear", &log_dir))?;
    }
    fs::rename(&unfinished, &log_dir).map_err(MembershipError::io("put in its place", &log_dir))?;
    let synced = File::open(file.dir()).and_then(|dir| dir.sync_all());
    synced.map_err(MembershipError::io("sync", file.dir()))?;
    Ok((head, membership))
}

/// There is no log; and if the directory is anybody's, it is of the same cluster.
fn check_free(file: &MembershipFile, head: &Head) -> Result<(), MembershipError> {
    let path = file.dir().display().to_string();
    if file.has_log()? {
        return Err(MembershipError::LogTaken { path });
    }
    match file.read()? {
        Some(Membership { cluster, id, .. }) if cluster != head.cluster => {
            Err(MembershipError::Taken { path, id, cluster })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{ClusterId, LogIndex};
    use common::time::Time;

    fn saved(dir: &Path, cluster: u64) -> std::path::PathBuf {
        let head = Head {
            cluster: ClusterId(cluster),
            name: "alpha".to_owned(),
            last_controller: ControllerId(3),
            applied: LogIndex(9),
            at: Time(1),
            release: "0".to_owned(),
        };
        let path = dir.join("backup");
        fs::write(&path, backup::to_bytes(&head, &state::State::default()).unwrap()).unwrap();
        path
    }

    fn config(dir: &Path) -> ControllerConfig {
        let state_dir = dir.join("state").display().to_string();
        ControllerConfig { state_dir, ..ControllerConfig::default() }
    }

    #[test]
    fn a_backup_becomes_a_controller_with_a_number_nobody_had_and_only_where_no_log_is() {
        let dir = tempfile::tempdir().unwrap();
        let (config, backup) = (config(dir.path()), saved(dir.path(), 7));
        let (_, membership) = restore(&config, &backup).unwrap();
        assert_eq!((membership.cluster, membership.id), (ClusterId(7), ControllerId(4)));
        let again = restore(&config, &backup).unwrap_err();
        assert!(matches!(again, MembershipError::LogTaken { .. }), "{again}");

        let file = MembershipFile::in_dir(&config.state_dir).unwrap();
        fs::remove_dir_all(file.log_dir()).unwrap();
        assert!(restore(&config, &backup).is_ok(), "after a crash, or where the log was lost");
        fs::remove_dir_all(file.log_dir()).unwrap();
        let foreign = restore(&config, &saved(dir.path(), 8)).unwrap_err();
        assert!(matches!(foreign, MembershipError::Taken { .. }), "{foreign}");
    }

    #[test]
    fn a_damaged_backup_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (config, backup) = (config(dir.path()), saved(dir.path(), 7));
        let mut bytes = fs::read(&backup).unwrap();
        bytes.truncate(bytes.len() - 1);
        fs::write(&backup, bytes).unwrap();
        assert!(restore(&config, &backup).is_err());
        assert!(!Path::new(&config.state_dir).exists());
    }
}
