//! Users and groups by name. Never asks the host itself: who converts a configuration hands in a
//! resolver. Numbers are read here, so that a resolver sees names alone.

use super::fault::Problem;
use crate::id::{AccountName, Gid, Uid};
use crate::policy::Access;

/// Finds users and groups by name.
pub trait Names {
    /// The user of this name.
    fn user(&self, name: &str) -> Option<Uid>;
    /// The group of this name.
    fn group(&self, name: &str) -> Option<Gid>;
}

/// Knows no name: for places where only numbers make sense.
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

/// Who may use something; the key that is wrong comes with the problem.
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
