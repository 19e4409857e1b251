//! The job's user as this node knows it: name, home, shell and groups; and acting as that user.

use crate::user;
use common::id::{Gid, Uid};
use common::job::Owner;
use net::{OwnerRefusal, OwnerRules};
use nix::unistd;
use serde::{Deserialize, Serialize};

/// A user as the node's user database describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub uid: Uid,
    /// The group that the job runs as.
    pub gid: Gid,
    pub groups: Vec<Gid>,
    /// The login name, or the controller's name for the user if the node has none.
    pub name: String,
    pub home: Option<String>,
    pub shell: Option<String>,
}

/// Why a job cannot run as its owner here.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("failed to read the user database: {0}")]
    Silent(#[from] nix::Error),
    /// The node does not run jobs of this user.
    #[error(transparent)]
    Refused(#[from] OwnerRefusal),
}

impl Account {
    /// Looks up a job's owner. May take long where users come from a directory service. A uid that
    /// the node does not know has one group only.
    ///
    /// # Errors
    /// [`AccountError`].
    pub fn look_up(owner: &Owner, rules: &OwnerRules) -> Result<Self, AccountError> {
        let (record, groups) = user::look_up(owner)?;
        rules.check(owner.uid.0, owner.gid.0, &record)?;
        let entry = record.entry;
        let home = entry.as_ref().and_then(|user| user.dir.to_str()).map(str::to_owned);
        let shell = entry.as_ref().and_then(|user| user.shell.to_str()).map(str::to_owned);
        Ok(Self {
            uid: owner.uid,
            gid: owner.gid,
            groups,
            home,
            shell: shell.filter(|shell| !shell.is_empty()),
            name: entry.map_or_else(|| owner.name.clone(), |user| user.name),
        })
    }

    /// Whether privileges must be dropped to become this user.
    pub fn needs_user_change(&self) -> bool {
        unistd::geteuid().is_root() || unistd::geteuid().as_raw() != self.uid.0
    }

    /// Takes on the user's rights, and no others, for file access and everything else. The real and
    /// the saved user id stay root's, so that the user's processes can neither signal nor trace
    /// this one (man 2 kill, man 2 ptrace). All effective capabilities are dropped (man 7
    /// capabilities).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn act_as_user(&self) -> nix::Result<()> {
        if !self.needs_user_change() {
            return Ok(());
        }
        let groups: Vec<_> = self.groups.iter().map(|g| unistd::Gid::from_raw(g.0)).collect();
        let gid = unistd::Gid::from_raw(self.gid.0);
        unistd::setgroups(&groups)?;
        unistd::setresgid(gid, gid, gid)?;
        unistd::seteuid(unistd::Uid::from_raw(self.uid.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_uid_keeps_its_number_and_its_one_group() {
        let owner = Owner { uid: Uid(3_999_999_999), gid: Gid(77), name: "3999999999".into() };
        let refused = Account::look_up(&owner, &OwnerRules::default()).unwrap_err();
        assert!(matches!(refused, AccountError::Refused(OwnerRefusal::Unknown { .. })));
        let open = OwnerRules { allow_unknown_users: true, ..OwnerRules::default() };
        let account = Account::look_up(&owner, &open).unwrap();
        assert_eq!((account.uid, account.groups), (owner.uid, vec![Gid(77)]));
        assert_eq!(account.home, None);
    }

    #[test]
    fn a_known_user_has_a_home_and_only_their_own_groups() {
        let mut owner = Owner { uid: Uid(0), gid: Gid(0), name: "toor".into() };
        let account = Account::look_up(&owner, &OwnerRules::default()).unwrap();
        assert_eq!(account.name, "root");
        assert_eq!(account.home.as_deref(), Some("/root"));
        assert!(account.groups.contains(&Gid(0)));
        owner.gid = Gid(4711);
        let refused = Account::look_up(&owner, &OwnerRules::default()).unwrap_err().to_string();
        assert!(refused.contains("group 4711"), "{refused}");
    }
}
