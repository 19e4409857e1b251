//! Restoring: an empty directory becomes the only controller of a cluster that goes on from a
//! backup: under a new cluster id and a number that no controller of the old one had, so that what
//! is left of the old one is refused, and with job numbers that no job had. Never where a log is,
//! and never from a backup that does not read to its end.

use super::{LogStage, Membership, MembershipError, MembershipFile, advertised, name};
use crate::backup::{self, Head};
use crate::history;
use common::config::ControllerConfig;
use common::id::{ClusterId, ControllerId};
use replica::{Beginning, Member, Opening};
use std::fs;
use std::path::Path;
use wal::{Options, RealDisk};

/// The old cluster may have given numbers after the backup; so many it has not given.
const CONTROLLERS_SKIPPED: u64 = 100;
/// Nodes may still hold, and files be called after, jobs that came after the backup: so many did
/// not, at a hundred a second for a day. The numbers of jobs last for 400 times that.
pub const JOBS_SKIPPED: u32 = 10_000_000;

/// Where the log is made before it is put in its place.
const UNFINISHED: &str = "log.unfinished";

/// A backup that was read.
pub struct Saved {
    /// What it is of.
    pub head: Head,
    state: state::State,
}

/// Reads a backup to its end.
///
/// # Errors
/// [`MembershipError`] when it is none.
pub fn read(backup: &Path) -> Result<Saved, MembershipError> {
    let bytes = fs::read(backup).map_err(MembershipError::io("read", backup))?;
    let (head, state) = backup::from_bytes(&bytes)?;
    let state = state::persist::from_bytes(&state).map_err(backup::BackupError::from)?;
    Ok(Saved { head, state })
}

/// Makes the log of a cluster with this id, `drawn` anew. Gives who this controller is. May be
/// called again after a crash.
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
    let state = renewed(state)?;
    let state = state::persist::to_bytes(&state).map_err(backup::BackupError::from)?;
    let id = ControllerId(head.last_controller.0.saturating_add(CONTROLLERS_SKIPPED));
    let membership = Membership { cluster: drawn, id, log: LogStage::ToRestore };
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
        cluster: Some(drawn),
        beginning: Beginning::Restore {
            member: Member { name: name(config), address, becomes_voter: false },
            state,
        },
        snapshot_every: config.snapshot_every_entries,
        snapshot_bytes_min: replica::SNAPSHOT_BYTES_MIN,
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
    let began = Membership { log: LogStage::Began, ..membership };
    // Syncs the directory, and with it the log's new name.
    file.write(&began)?;
    if let Err(error) = history::adopt(file.dir(), head.cluster, drawn) {
        // Without it the next start begins a new file beside it.
        tracing::warn!("{error}");
    }
    Ok(began)
}

/// What may have happened after the backup does not happen again: no job number is given twice, and
/// an invitation that was used lets no second controller in.
fn renewed(mut state: state::State) -> Result<state::State, MembershipError> {
    if !state.skip_jobs(JOBS_SKIPPED) {
        return Err(MembershipError::NoJobNumbers);
    }
    state.close_invitations();
    Ok(state)
}

/// There is no log; and if the directory is anybody's, it is of the backup's cluster, or of one
/// whose restoring broke off.
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
    fn a_backup_becomes_a_cluster_and_a_controller_that_nobody_was_and_only_where_no_log_is() {
        let dir = tempfile::tempdir().unwrap();
        let (config, backup) = (config(dir.path()), saved(dir.path(), 7));
        let again = || restore(&config, read(&backup).unwrap(), DRAWN);
        let membership = again().unwrap();
        assert_eq!((membership.cluster, membership.log), (DRAWN, LogStage::Began));
        assert!(membership.id > ControllerId(50), "far from what the old one gave since");
        assert!(matches!(again().unwrap_err(), MembershipError::LogTaken { .. }));

        let file = MembershipFile::in_dir(&config.state_dir).unwrap();
        fs::remove_dir_all(file.log_dir()).unwrap();
        let foreign = again().unwrap_err();
        assert!(matches!(foreign, MembershipError::OtherBackup { .. }), "{foreign}");
        file.write(&Membership { log: LogStage::ToRestore, ..membership }).unwrap();
        assert!(again().is_ok(), "the last one broke off");
        fs::remove_dir_all(file.log_dir()).unwrap();
        file.write(&Membership { cluster: ClusterId(7), ..membership }).unwrap();
        assert!(again().is_ok(), "its own log was lost");
    }

    #[test]
    fn jobs_after_a_restore_have_numbers_that_none_had() {
        let mut state = state::State::default();
        assert!(state.skip_jobs(JOBS_SKIPPED));
        assert_eq!(state.last_job().0, JOBS_SKIPPED);
        assert!(!state.skip_jobs(u32::MAX), "there are not so many");
        assert_eq!(state.last_job().0, JOBS_SKIPPED);
    }

    #[test]
    fn invitations_of_before_a_restore_let_no_controller_in() {
        let mut state = state::State::default();
        let command = state::Command::InviteController {
            actor: state::Actor { uid: common::id::Uid(0), operator: true },
            hash: "x".to_owned(),
            lasts: common::time::Span::from_seconds(60),
        };
        state::apply(&mut state, &state::Stamped { at: Time(1), command });
        assert!(state.invitation("x").is_some());
        let renewed = renewed(state).unwrap();
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
