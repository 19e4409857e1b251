//! What kantctld finds in its state directory when it starts, and how it opens the log.

use super::{
    LogStage, Membership, MembershipError, MembershipFile, advertised_address, controller_name,
    found,
};
use crate::raft::{Bootstrap, Member};
use common::config::ControllerConfig;
use common::id::ClusterId;

#[derive(Debug)]
pub struct Start {
    pub file: MembershipFile,
    pub membership: Membership,
    /// What to make of an empty log directory.
    pub bootstrap: Bootstrap,
}

/// Examines the state directory. `drawn` is the id for a cluster that is founded here.
///
/// # Errors
/// [`MembershipError`] if it is not clear what to start.
pub fn examine_state_dir(
    config: &ControllerConfig,
    drawn: ClusterId,
) -> Result<Start, MembershipError> {
    let file = MembershipFile::in_dir(&config.state_dir)?;
    let membership = match (file.read()?, file.has_log()?) {
        (Some(membership), _) => membership,
        (None, true) => {
            return Err(MembershipError::NoMembershipFile {
                path: file.log_dir().display().to_string(),
                file: file.path().display().to_string(),
            });
        }
        (None, false) if config.peers.is_empty() => found(&file, drawn)?,
        (None, false) => {
            return Err(MembershipError::Undecided { path: file.dir().display().to_string() });
        }
    };
    let bootstrap = match membership.log {
        LogStage::Began | LogStage::ToRestore => Bootstrap::None,
        LogStage::ToFound => Bootstrap::Found(Member {
            name: controller_name(config),
            address: advertised_address(config).to_owned(),
            becomes_voter: false,
        }),
        LogStage::ToJoin => Bootstrap::Join,
        LogStage::Lost => {
            return Err(MembershipError::LogLost { path: file.log_dir().display().to_string() });
        }
        LogStage::Differs => {
            return Err(MembershipError::StateDiffers {
                path: file.log_dir().display().to_string(),
            });
        }
    };
    Ok(Start { file, membership, bootstrap })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(dir: &std::path::Path) -> ControllerConfig {
        ControllerConfig { state_dir: dir.display().to_string(), ..ControllerConfig::default() }
    }

    #[test]
    fn an_empty_directory_becomes_a_cluster_of_one_unless_peers_are_configured() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(dir.path());
        config.peers = vec!["b:7600".to_owned()];
        let error = examine_state_dir(&config, ClusterId(7)).unwrap_err().to_string();
        assert!(error.contains("kantctld found") && error.contains("kantctld join"), "{error}");
        config.peers.clear();
        let start = examine_state_dir(&config, ClusterId(7)).unwrap();
        assert!(matches!(start.bootstrap, Bootstrap::Found(_)));
        let again = examine_state_dir(&config, ClusterId(8)).unwrap();
        assert_eq!(again.membership, start.membership, "an interrupted start is continued");
    }

    #[test]
    fn a_log_that_has_begun_is_not_begun_again() {
        let dir = tempfile::tempdir().unwrap();
        let start = examine_state_dir(&config(dir.path()), ClusterId(7)).unwrap();
        start.file.note_began(&start.membership).unwrap();
        let again = examine_state_dir(&config(dir.path()), ClusterId(7)).unwrap();
        assert_eq!(again.bootstrap, Bootstrap::None);
    }

    #[test]
    fn a_damaged_log_and_one_with_another_state_are_not_started_again() {
        for (log, says) in [(LogStage::Lost, "was lost"), (LogStage::Differs, "differs")] {
            let dir = tempfile::tempdir().unwrap();
            let start = examine_state_dir(&config(dir.path()), ClusterId(7)).unwrap();
            start.file.write(&Membership { log, ..start.membership }).unwrap();
            let error =
                examine_state_dir(&config(dir.path()), ClusterId(7)).unwrap_err().to_string();
            assert!(error.contains("kantctld rebuild") && error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_log_without_a_membership_file_is_not_started() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("log")).unwrap();
        std::fs::write(dir.path().join("log/snapshot-00000000000000000001"), "").unwrap();
        let error = examine_state_dir(&config(dir.path()), ClusterId(7)).unwrap_err().to_string();
        assert!(error.contains("kantctld rebuild"), "{error}");
    }
}
