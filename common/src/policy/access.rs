//! Who may use a queue or a QoS. Never asks the kernel who somebody is; it is handed ids.

use crate::id::{AccountName, Gid, Uid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Who may use something; all three empty: everybody.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Access {
    pub users: BTreeSet<Uid>,
    /// Users with one of these groups (their main group or another).
    pub groups: BTreeSet<Gid>,
    /// Jobs charged to one of these accounts.
    pub accounts: BTreeSet<AccountName>,
}

impl Access {
    /// May everybody use it?
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty() && self.accounts.is_empty()
    }

    /// May this user, with these groups, use it for this account?
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
