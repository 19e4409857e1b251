//! What kantctld finds in its state directory when it starts, and how it opens the log.

use super::{LogStage, Membership, MembershipError, MembershipFile, advertised, found, name};
use crate::raft::{Bootstrap, Member, Members};
use common::config::ControllerConfig;
use common::id::{ClusterId, ControllerId};

#[derive(Debug)]
pub struct Start {
    pub file: MembershipFile,
    /// `None` if the log is from before there were membership files.
    pub membership: Option<Membership>,
    /// What to make of an empty log directory.
    pub bootstrap: Bootstrap,
}

/// Examines the state directory. `drawn` is the id for a cluster that is founded here.
///
/// # Errors
/// [`MembershipError`] if it is not clear what to start.
pub fn at_start(config: &ControllerConfig, drawn: ClusterId) -> Result<Start, MembershipError> {
    let file = MembershipFile::in_dir(&config.state_dir)?;
    let membership = match (file.read()?, file.has_log()?) {
        (Some(membership), _) => Some(membership),
        (None, true) => None,
        (None, false) if config.peers.is_empty() => Some(found(&file, drawn)?),
        (None, false) => {
            return Err(MembershipError::Undecided { path: file.dir().display().to_string() });
        }
    };
    let bootstrap = match membership.map(|membership| membership.log) {
        None | Some(LogStage::Began | LogStage::ToRestore) => Bootstrap::None,
        Some(LogStage::ToFound) => Bootstrap::Found(Member {
            name: name(config),
            address: advertised(config).to_owned(),
            becomes_voter: false,
        }),
        Some(LogStage::ToJoin) => Bootstrap::Join,
        Some(LogStage::Lost) => {
            return Err(MembershipError::LogLost { path: file.log_dir().display().to_string() });
        }
    };
    Ok(Start { file, membership, bootstrap })
}

/// Checks that a log without a membership file is that of a single controller 1.
///
/// # Errors
/// [`MembershipError::NoMembershipFile`].
pub fn check_adopted(
    file: &MembershipFile,
    members: &Members,
) -> Result<Membership, MembershipError> {
    let mut ids: Vec<u64> = members.voters.iter().chain(&members.learners).copied().collect();
    ids.extend(&members.voters_outgoing);
    if ids == [1] && members.last <= ControllerId(1) {
        return Ok(Membership {
            cluster: members.cluster,
            id: ControllerId(1),
            log: LogStage::ToFound,
        });
    }
    Err(MembershipError::NoMembershipFile {
        path: file.dir().display().to_string(),
        count: ids.len(),
        file: file.path().display().to_string(),
    })
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
        let error = at_start(&config, ClusterId(7)).unwrap_err().to_string();
        assert!(error.contains("kantctld found") && error.contains("kantctld join"), "{error}");
        config.peers.clear();
        let start = at_start(&config, ClusterId(7)).unwrap();
        assert!(matches!(start.bootstrap, Bootstrap::Found(_)));
        let again = at_start(&config, ClusterId(8)).unwrap();
        assert_eq!(again.membership, start.membership, "an interrupted start is continued");
    }

    #[test]
    fn a_log_that_has_begun_is_not_begun_again() {
        let dir = tempfile::tempdir().unwrap();
        let start = at_start(&config(dir.path()), ClusterId(7)).unwrap();
        start.file.note_began(&start.membership.unwrap()).unwrap();
        let again = at_start(&config(dir.path()), ClusterId(7)).unwrap();
        assert_eq!(again.bootstrap, Bootstrap::None);
    }

    #[test]
    fn a_damaged_log_is_not_started_again() {
        let dir = tempfile::tempdir().unwrap();
        let start = at_start(&config(dir.path()), ClusterId(7)).unwrap();
        start.file.note_lost(&start.membership.unwrap()).unwrap();
        let error = at_start(&config(dir.path()), ClusterId(7)).unwrap_err().to_string();
        assert!(error.contains("kantctld rebuild"), "{error}");
    }

    #[test]
    fn a_log_without_membership_is_controller_1s_if_that_was_alone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("log")).unwrap();
        std::fs::write(dir.path().join("log/snapshot-00000000000000000001"), "").unwrap();
        let start = at_start(&config(dir.path()), ClusterId(7)).unwrap();
        assert_eq!((start.membership, &start.bootstrap), (None, &Bootstrap::None));
        let mut members = Members { voters: vec![1], ..Members::default() };
        assert_eq!(check_adopted(&start.file, &members).unwrap().id, ControllerId(1));
        members.voters.push(2);
        let error = check_adopted(&start.file, &members).unwrap_err().to_string();
        assert!(error.contains("kantctld rebuild"), "{error}");
    }
}
