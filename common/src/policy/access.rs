//! Access to a queue or a QoS by user, group and account.

use crate::id::{AccountName, Gid, Uid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The users, groups and accounts that have access; all users if all three are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Access {
    pub users: BTreeSet<Uid>,
    /// Primary or supplementary groups of a user.
    pub groups: BTreeSet<Gid>,
    /// The accounts that a job may be charged to.
    pub accounts: BTreeSet<AccountName>,
}

impl Access {
    /// Do all users have access?
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty() && self.accounts.is_empty()
    }

    /// Does this user, with these groups, have access for this account?
    #[must_use]
    pub fn allows(&self, user: Uid, groups: &[Gid], account: Option<&AccountName>) -> bool {
        self.is_open()
            || self.users.contains(&user)
            || groups.iter().any(|group| self.groups.contains(group))
            || account.is_some_and(|account| self.accounts.contains(account))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_one_of_user_group_and_account_opens_the_door() {
        let open = Access::default();
        assert!(open.allows(Uid(1), &[], None));
        let account = AccountName::new("vision").unwrap();
        let some = Access {
            users: BTreeSet::from([Uid(1)]),
            groups: BTreeSet::from([Gid(20)]),
            accounts: BTreeSet::from([account.clone()]),
        };
        assert!(some.allows(Uid(1), &[], None));
        assert!(some.allows(Uid(2), &[Gid(7), Gid(20)], None));
        assert!(some.allows(Uid(2), &[], Some(&account)));
        assert!(!some.allows(Uid(2), &[Gid(7)], None));
    }
}
