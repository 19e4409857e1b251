//! `kantctld found`: makes an empty directory the first controller of a new cluster.

use super::{LogStage, Membership, MembershipError, MembershipFile};
use common::id::{ClusterId, ControllerId};

/// Writes the membership of the first controller of a new cluster.
///
/// # Errors
/// [`MembershipError`] if the directory is in use.
pub fn found(file: &MembershipFile, cluster: ClusterId) -> Result<Membership, MembershipError> {
    check_unused(file)?;
    let founder = Membership { cluster, id: ControllerId(1), log: LogStage::ToFound };
    file.write(&founder)?;
    Ok(founder)
}

/// Checks that the directory has neither membership nor log.
pub(super) fn check_unused(file: &MembershipFile) -> Result<(), MembershipError> {
    let path = file.dir().display().to_string();
    if let Some(Membership { cluster, id, .. }) = file.read()? {
        return Err(MembershipError::Taken { path, id, cluster });
    }
    match file.has_log()? {
        true => Err(MembershipError::LogTaken { path }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_founded_once_and_never_over_a_log() {
        let dir = tempfile::tempdir().unwrap();
        let file = MembershipFile::in_dir(&dir.path().display().to_string()).unwrap();
        found(&file, ClusterId(7)).unwrap();
        let error = found(&file, ClusterId(8)).unwrap_err();
        assert!(error.to_string().contains("cluster 0000000000000007"), "{error}");
        assert_eq!(file.read().unwrap().unwrap().cluster, ClusterId(7), "unchanged");

        std::fs::remove_file(file.path()).unwrap();
        std::fs::create_dir(file.log_dir()).unwrap();
        std::fs::write(file.log_dir().join("log-00000000000000000001"), "").unwrap();
        assert!(matches!(found(&file, ClusterId(8)), Err(MembershipError::LogTaken { .. })));
        assert_eq!(file.read().unwrap(), None);
    }
}
