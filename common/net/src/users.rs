//! A user's entry in the host's user database (man 3 getpwuid, man 3 getgrouplist), and the rules
//! for owners of jobs that depend on it.

use std::ffi::CString;

use nix::errno::Errno;
use nix::unistd::{Gid, Group, Uid, User, getgrouplist};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The kernel's uid for a user without a uid here (/proc/sys/kernel/overflowuid).
const OVERFLOW_UID: u32 = 65_534;

/// A user's entry, and membership in a group.
#[derive(Debug, Clone)]
pub struct UserRecord {
    /// `None` for a uid that is unknown here.
    pub entry: Option<User>,
    /// The user's groups in the database.
    pub groups: Vec<u32>,
    /// The group exists in the database, and the user is not a member.
    group_is_foreign: bool,
}

/// The rules for owners of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRules {
    /// Users with a lower uid, except root, are system users.
    pub uid_min: u32,
    /// Users that are not in the database may own jobs.
    pub allow_unknown_users: bool,
}

/// Why a user may not own jobs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OwnerRefusal {
    #[error(
        "jobs of uid {uid} are refused, because it is a system user (below {uid_min}, or \
         {OVERFLOW_UID}): submit as an ordinary user, or let an operator set `uid_min` in \
         kantctld.toml and each kantd.toml"
    )]
    System {
        uid: u32,
        /// The lowest uid of an ordinary user.
        uid_min: u32,
    },
    #[error(
        "jobs of uid {uid} are refused, because this host's user database does not have it: add \
         the user on every host, or let an operator set `allow_unknown_users = true` in \
         kantctld.toml and each kantd.toml"
    )]
    Unknown { uid: u32 },
    #[error(
        "jobs of uid {uid} with group {gid} are refused, because in this host's user database it \
         is not a member of that group: submit with a group that `id` lists, or let an \
         administrator add the user to the group on every host"
    )]
    ForeignGroup { uid: u32, gid: u32 },
}

impl UserRecord {
    /// Looks up a user, with the group of a job. May take long if users come from the network.
    ///
    /// # Errors
    /// The database does not answer, which differs from an unknown user.
    pub fn look_up(uid: u32, gid: u32) -> nix::Result<Self> {
        Self::from_lookup(gid, User::from_uid(Uid::from_raw(uid)))
    }

    fn from_lookup(gid: u32, answer: nix::Result<Option<User>>) -> nix::Result<Self> {
        let entry = none_if_missing(answer)?;
        let groups = entry.as_ref().map_or(Ok(Vec::new()), groups_of)?;
        let group_is_foreign = match &entry {
            Some(_) => !groups.contains(&gid),
            None => none_if_missing(Group::from_gid(Gid::from_raw(gid)))?.is_some(),
        };
        Ok(Self { entry, groups, group_is_foreign })
    }
}

impl OwnerRules {
    /// May this user own jobs with this group? Root is decided elsewhere.
    ///
    /// # Errors
    /// [`OwnerRefusal`], with what to do.
    pub fn check(&self, uid: u32, gid: u32, record: &UserRecord) -> Result<(), OwnerRefusal> {
        let Self { uid_min, allow_unknown_users } = *self;
        let is_system = uid < uid_min || (uid == OVERFLOW_UID && uid_min > 0);
        if uid != 0 && is_system {
            return Err(OwnerRefusal::System { uid, uid_min });
        }
        if record.entry.is_none() && !allow_unknown_users {
            return Err(OwnerRefusal::Unknown { uid });
        }
        match record.group_is_foreign {
            true => Err(OwnerRefusal::ForeignGroup { uid, gid }),
            false => Ok(()),
        }
    }
}

impl Default for OwnerRules {
    fn default() -> Self {
        Self { uid_min: 1000, allow_unknown_users: false }
    }
}

/// Some libraries report a missing entry as an error (man 3 getpwuid).
fn none_if_missing<T>(answer: nix::Result<Option<T>>) -> nix::Result<Option<T>> {
    match answer {
        Err(Errno::ENOENT | Errno::ESRCH) => Ok(None),
        answer => answer,
    }
}

fn groups_of(user: &User) -> nix::Result<Vec<u32>> {
    let name = CString::new(user.name.as_str()).map_err(|_| Errno::EINVAL)?;
    Ok(getgrouplist(&name, user.gid)?.into_iter().map(Gid::as_raw).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_ONE: u32 = 3_999_999_999;
    const STRICT: OwnerRules = OwnerRules { uid_min: 1000, allow_unknown_users: false };
    const OPEN: OwnerRules = OwnerRules { allow_unknown_users: true, ..STRICT };

    fn check(rules: OwnerRules, uid: u32, gid: u32) -> Result<(), OwnerRefusal> {
        rules.check(uid, gid, &UserRecord::look_up(uid, gid).unwrap())
    }

    #[test]
    fn a_silent_database_is_an_error_and_an_unknown_user_is_none() {
        let found = UserRecord::from_lookup(NO_ONE, Err(Errno::ENOENT)).unwrap();
        assert!(found.entry.is_none() && found.groups.is_empty());
        assert_eq!(UserRecord::from_lookup(NO_ONE, Err(Errno::EIO)).unwrap_err(), Errno::EIO);
    }

    #[test]
    fn unknown_users_are_refused_unless_the_rules_allow_them() {
        assert_eq!(check(STRICT, NO_ONE, NO_ONE), Err(OwnerRefusal::Unknown { uid: NO_ONE }));
        assert_eq!(check(OPEN, NO_ONE, NO_ONE), Ok(()));
        let with_roots = Err(OwnerRefusal::ForeignGroup { uid: NO_ONE, gid: 0 });
        assert_eq!(check(OPEN, NO_ONE, 0), with_roots, "a group that others have");
    }

    #[test]
    fn system_users_are_refused_and_root_is_asked_about_elsewhere() {
        for rules in [STRICT, OPEN] {
            let refused = |uid| Err(OwnerRefusal::System { uid, uid_min: 1000 });
            assert_eq!(check(rules, 1, 1), refused(1));
            assert_eq!(check(rules, OVERFLOW_UID, OVERFLOW_UID), refused(OVERFLOW_UID));
        }
        assert_eq!(check(STRICT, 0, 0), Ok(()));
    }

    #[test]
    fn a_group_that_the_database_does_not_give_the_user_is_refused() {
        let all = OwnerRules { uid_min: 0, allow_unknown_users: true };
        for rules in [STRICT, all] {
            let refused = Err(OwnerRefusal::ForeignGroup { uid: 0, gid: NO_ONE });
            assert_eq!(check(rules, 0, NO_ONE), refused);
        }
    }
}
