//! A job's owner in this node's user database, for running jobs and for reading their output.

use common::id::Gid;
use common::job::Owner;
use net::UserRecord;

/// Looks up a job's owner with all groups, including the group of submission; an unknown user has
/// only that one. May take long where users come from a directory service.
///
/// # Errors
/// When the user database does not answer.
pub fn look_up(owner: &Owner) -> nix::Result<(UserRecord, Vec<Gid>)> {
    let record = UserRecord::look_up(owner.uid.0, owner.gid.0)?;
    let mut groups: Vec<Gid> = record.groups.iter().copied().map(Gid).collect();
    if !groups.contains(&owner.gid) {
        groups.push(owner.gid);
    }
    Ok((record, groups))
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::Uid;

    #[test]
    fn the_groups_are_the_databases_and_the_group_of_submission() {
        let owner = |uid, gid| Owner { uid: Uid(uid), gid: Gid(gid), name: "ada".into() };
        let (found, groups) = look_up(&owner(0, 4711)).unwrap();
        assert_eq!(found.entry.unwrap().name, "root");
        assert!(groups.contains(&Gid(0)) && groups.contains(&Gid(4711)));
        let (found, groups) = look_up(&owner(3_999_999_999, 77)).unwrap();
        assert_eq!((found.entry, groups), (None, vec![Gid(77)]));
    }
}
