//! The resolution of user and group names. The caller passes a resolver for its host; numeric ids
//! are parsed here, so a resolver receives names only.

use super::error::Problem;
use crate::id::{AccountName, Gid, Uid};
use crate::policy::Access;

/// A resolver of user and group names.
pub trait Names {
    fn user(&self, name: &str) -> Option<Uid>;
    fn group(&self, name: &str) -> Option<Gid>;
}

/// A resolver that knows no name, where only numeric ids are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NumbersOnly;

impl Names for NumbersOnly {
    fn user(&self, _name: &str) -> Option<Uid> {
        None
    }

    fn group(&self, _name: &str) -> Option<Gid> {
        None
    }
}

/// The access by users, groups and accounts; an error includes the key at fault.
pub(super) fn access(
    users: &[String],
    groups: &[String],
    accounts: &[AccountName],
    names: &dyn Names,
) -> Result<Access, (&'static str, Problem)> {
    let mut access = Access::default();
    for text in users {
        let user = text.parse().map(Uid).ok().or_else(|| names.user(text));
        access.users.insert(user.ok_or(("users", Problem::UnknownUser(text.clone())))?);
    }
    for text in groups {
        let group = text.parse().map(Gid).ok().or_else(|| names.group(text));
        access.groups.insert(group.ok_or(("groups", Problem::UnknownGroup(text.clone())))?);
    }
    access.accounts.extend(accounts.iter().cloned());
    Ok(access)
}
