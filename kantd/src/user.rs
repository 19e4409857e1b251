//! A job's owner as this node's user database knows them (man 3 getpwuid, man 3 getgrouplist): the
//! one answer for those who run a job and those who read its output. Never becomes anybody, never
//! trusts a name over a number.

use common::id::Gid;
use common::job::Owner;
use nix::errno::Errno;
use nix::unistd::{self, Uid, User, getgrouplist};
use std::ffi::CString;

/// What the database says.
#[derive(Debug, Clone)]
pub struct UserRecord {
    /// The entry; `None` for a uid that is unknown here.
    pub entry: Option<User>,
    /// All groups, that of submission among them; of an unknown user that one alone.
    pub groups: Vec<Gid>,
}

/// Looks a job's owner up. May take long where users come from the network.
///
/// # Errors
/// When the database does not answer: that is not the same as a user it does not know, who runs
/// with fewer groups.
pub fn look_up(owner: &Owner) -> nix::Result<UserRecord> {
    record(owner, User::from_uid(Uid::from_raw(owner.uid.0)))
}

fn record(owner: &Owner, answer: nix::Result<Option<User>>) -> nix::Result<UserRecord> {
    let entry = match answer {
        // So do some libraries say that there is no such user (man 3 getpwuid).
        Err(Errno::ENOENT | Errno::ESRCH) => None,
        answer => answer?,
    };
    let mut groups = entry.as_ref().map_or(Ok(Vec::new()), groups_of)?;
    if !groups.contains(&owner.gid) {
        groups.push(owner.gid);
    }
    Ok(UserRecord { entry, groups })
}

fn groups_of(user: &User) -> nix::Result<Vec<Gid>> {
    let name = CString::new(user.name.as_str()).map_err(|_| Errno::EINVAL)?;
    let listed: Vec<unistd::Gid> = getgrouplist(&name, user.gid)?;
    Ok(listed.into_iter().map(|gid| Gid(gid.as_raw())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::Uid;

    fn owner(uid: u32, gid: u32) -> Owner {
        Owner { uid: Uid(uid), gid: Gid(gid), name: "ada".into() }
    }

    #[test]
    fn a_known_user_has_the_groups_of_the_database_and_that_of_submission() {
        let found = look_up(&owner(0, 4711)).unwrap();
        assert_eq!(found.entry.unwrap().name, "root");
        assert!(found.groups.contains(&Gid(0)) && found.groups.contains(&Gid(4711)));
    }

    #[test]
    fn an_unknown_user_has_one_group_and_a_silent_database_is_an_error() {
        let ada = owner(3_999_999_999, 77);
        for answer in [look_up(&ada), record(&ada, Err(Errno::ENOENT))] {
            let found = answer.unwrap();
            assert_eq!((found.entry, found.groups), (None, vec![Gid(77)]));
        }
        assert_eq!(record(&ada, Err(Errno::EIO)).unwrap_err(), Errno::EIO);
    }
}
