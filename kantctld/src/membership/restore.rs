//! `kantctld restore`: makes an empty directory the only controller of a cluster that continues
//! from a backup. It gets a new cluster id and an unused controller id, so that remains of the old
//! cluster are refused, and skips job numbers that may have been used. The backup is read to its
//! end before anything changes.

use super::{
    LogStage, Membership, MembershipError, MembershipFile, advertised_address, controller_name,
};
use crate::backup::{self, Head};
use crate::history;
use common::config::ControllerConfig;
use common::id::{ClusterId, ControllerId};
use replica::{Bootstrap, Member, ReplicaConfig};
use std::fs;
use std::path::Path;
use wal::{Options, RealDisk};

/// More controller ids than the old cluster can have assigned after the backup.
const CONTROLLERS_SKIPPED: u64 = 100;
/// More jobs than can have been submitted after the backup: a hundred per second for a day. Nodes
/// may still run them, and files are named after them. Job numbers last for 400 times as many.
pub const JOBS_SKIPPED: u32 = 10_000_000;

/// Where the log is made before it is renamed.
const TEMPORARY: &str = "log.unfinished";

/// The content of a backup.
pub struct Saved {
    pub head: Head,
    state: state::State,
}

/// Reads a whole backup.
///
/// # Errors
/// [`MembershipError`] if it is invalid.
pub fn read(backup: &Path) -> Result<Saved, MembershipError> {
    let bytes = fs::read(backup).map_err(MembershipError::io("read", backup))?;
    let (head, state) = backup::from_bytes(&bytes)?;
    let state = state::persist::from_bytes(&state).map_err(backup::BackupError::from)?;
    Ok(Saved { head, state })
}

/// Makes the log of a new cluster with the random id `drawn`. Returns this controller's membership.
/// May be repeated after a crash.
///
/// # Errors
/// [`MembershipError`]; then there is no log.
pub fn restore(
    config: &ControllerConfig,
    saved: Saved,
    drawn: ClusterId,
) -> Result<Membership, MembershipError> {
    let Saved { head, state } = saved;
    let file = MembershipFile::in_dir(&config.state_dir)?;
    check_free(&file, &head)?;
    let state = prevent_reuse(state)?;
    let state = state::persist::to_bytes(&state).map_err(backup::BackupError::from)?;
    let id = ControllerId(head.last_controller.0.saturating_add(CONTROLLERS_SKIPPED));
    let membership = Membership { cluster: drawn, id, log: LogStage::ToRestore };
    // A log without a membership would be taken for that of controller 1. A membership without a
    // log makes kantctld report the log as missing, and this command may be repeated.
    file.write(&membership)?;
    let temporary = file.dir().join(TEMPORARY);
    if temporary.exists() {
        fs::remove_dir_all(&temporary).map_err(MembershipError::io("clear", &temporary))?;
    }
    let address = advertised_address(config).to_owned();
    let replica_config = ReplicaConfig {
        id,
        cluster: drawn,
        bootstrap: Bootstrap::Restore {
            member: Member { name: controller_name(config), address, becomes_voter: false },
            state,
        },
        snapshot_every: config.snapshot_every_entries,
        snapshot_bytes_min: replica::SNAPSHOT_BYTES_MIN,
        compare_every: replica::COMPARE_EVERY,
        seed: 0,
        options: Options { salt: fastrand::u64(..), ..Options::default() },
    };
    let disk = RealDisk::open(&temporary).map_err(MembershipError::io("make", &temporary))?;
    replica::create_log(disk, &replica_config)?;
    let log_dir = file.log_dir();
    if log_dir.exists() {
        // It has no log: a failed start leaves a lock file.
        fs::remove_dir_all(&log_dir).map_err(MembershipError::io("clear", &log_dir))?;
    }
    fs::rename(&temporary, &log_dir).map_err(MembershipError::io("put in its place", &log_dir))?;
    let began = Membership { log: LogStage::Began, ..membership };
    // Also syncs the directory with the log's new name.
    file.write(&began)?;
    if let Err(error) = history::adopt_after_restore(file.dir(), head.cluster, drawn) {
        // The next start then begins a new file.
        tracing::warn!("{error}");
    }
    Ok(began)
}

/// More than the times that a node was enrolled since any backup.
const ENROLMENTS_SKIPPED: u32 = 1_000_000;
/// More than the steps of replacements of the cluster key since any backup.
const GENERATIONS_SKIPPED: u32 = 1_000_000;

/// Protects against repeating what happened after the backup: skips job numbers and numbers of
/// enrolments, and closes invitations that may have been used.
fn prevent_reuse(mut state: state::State) -> Result<state::State, MembershipError> {
    if !state.skip_jobs(JOBS_SKIPPED) {
        return Err(MembershipError::NoJobNumbers);
    }
    state.close_invitations();
    state.skip_enrolments(ENROLMENTS_SKIPPED);
    state.end_key_rotation(GENERATIONS_SKIPPED);
    state.revoke_tokens();
    Ok(state)
}

/// Checks that there is no log, and that an existing membership is of the backup's cluster or of an
/// interrupted restore.
fn check_free(file: &MembershipFile, head: &Head) -> Result<(), MembershipError> {
    let path = file.dir().display().to_string();
    if file.has_log()? {
        return Err(MembershipError::LogTaken { path });
    }
    match file.read()? {
        Some(Membership { log: LogStage::ToRestore, .. }) => Ok(()),
        Some(Membership { cluster, id, .. }) if cluster != head.cluster => {
            Err(MembershipError::OtherBackup { path, id, cluster, theirs: head.cluster })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::LogIndex;
    use common::time::Time;
    use std::path::PathBuf;

    const DRAWN: ClusterId = ClusterId(0xbeef);

    fn saved(dir: &Path, cluster: u64) -> PathBuf {
        let head = Head {
            cluster: ClusterId(cluster),
            name: "alpha".to_owned(),
            last_controller: ControllerId(3),
            controllers: Vec::new(),
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
    fn a_restored_cluster_and_its_controller_have_new_ids_and_a_log_is_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (config, backup) = (config(dir.path()), saved(dir.path(), 7));
        let again = || restore(&config, read(&backup).unwrap(), DRAWN);
        let membership = again().unwrap();
        assert_eq!((membership.cluster, membership.log), (DRAWN, LogStage::Began));
        assert!(membership.id > ControllerId(50), "past the ids of the old cluster");
        assert!(matches!(again().unwrap_err(), MembershipError::LogTaken { .. }));

        let file = MembershipFile::in_dir(&config.state_dir).unwrap();
        fs::remove_dir_all(file.log_dir()).unwrap();
        let foreign = again().unwrap_err();
        assert!(matches!(foreign, MembershipError::OtherBackup { .. }), "{foreign}");
        file.write(&Membership { log: LogStage::ToRestore, ..membership }).unwrap();
        assert!(again().is_ok(), "the last restore was interrupted");
        fs::remove_dir_all(file.log_dir()).unwrap();
        file.write(&Membership { cluster: ClusterId(7), ..membership }).unwrap();
        assert!(again().is_ok(), "its own log was lost");
    }

    #[test]
    fn jobs_after_a_restore_have_unused_numbers() {
        let mut state = state::State::default();
        assert!(state.skip_jobs(JOBS_SKIPPED));
        assert_eq!(state.last_job_id().0, JOBS_SKIPPED);
        assert!(!state.skip_jobs(u32::MAX), "too few are left");
        assert_eq!(state.last_job_id().0, JOBS_SKIPPED);
    }

    #[test]
    fn invitations_from_before_a_restore_are_closed() {
        let mut state = state::State::default();
        let command = state::Command::Invite {
            actor: state::Actor::operator(common::id::Uid(0)),
            hash: "x".to_owned(),
            lasts: common::time::Span::from_seconds(60),
            admits: state::invitation::Admits::Controller,
        };
        state::apply(&mut state, &state::Stamped { at: Time(1), command });
        assert!(state.invitation("x").is_some());
        let renewed = prevent_reuse(state).unwrap();
        assert!(renewed.invitations().next().is_none());
    }

    #[test]
    fn a_damaged_backup_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (config, backup) = (config(dir.path()), saved(dir.path(), 7));
        let mut bytes = fs::read(&backup).unwrap();
        bytes.truncate(bytes.len() - 1);
        fs::write(&backup, bytes).unwrap();
        assert!(read(&backup).is_err());
        assert!(!Path::new(&config.state_dir).exists());
    }
}
