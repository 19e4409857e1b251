//! Which accounts a user may charge, as sacctmgr and sshare list them: those that name the user or
//! a group of the user's, and those that are open to all. This host's user database is asked.

use crate::output::people;
use common::id::{Gid, Uid};
use common::policy::Access;
use nix::unistd::{User, getgrouplist};
use std::ffi::CString;

/// A user with all groups, as this host has them.
#[derive(Debug)]
pub struct Member {
    /// The name, or what was typed.
    pub name: String,
    uid: Option<Uid>,
    groups: Vec<Gid>,
}

impl Member {
    /// By a name or a number.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let by_number = || User::from_uid(text.parse::<u32>().ok()?.into()).ok().flatten();
        let Some(user) = User::from_name(text).ok().flatten().or_else(by_number) else {
            let uid = text.parse().ok().map(Uid);
            return Self { name: text.to_owned(), uid, groups: Vec::new() };
        };
        let name = CString::new(user.name.clone()).ok();
        let groups = name.and_then(|name| getgrouplist(&name, user.gid).ok()).unwrap_or_default();
        let groups = groups.into_iter().map(|gid| Gid(gid.as_raw())).collect();
        Self { name: user.name, uid: Some(Uid(user.uid.as_raw())), groups }
    }

    /// The user who runs this.
    #[must_use]
    pub fn own() -> Self {
        Self::of(&nix::unistd::getuid().to_string())
    }

    /// May this user charge it?
    #[must_use]
    pub fn may(&self, access: &Access) -> bool {
        match self.uid {
            Some(uid) => access.allows(uid, &self.groups, None),
            None => access.is_open(),
        }
    }
}

/// Those that are named: users by name, groups with an `@`.
#[must_use]
pub fn named(access: &Access) -> Vec<String> {
    let users = access.users.iter().map(|uid| people::user(uid.0));
    let groups = access.groups.iter().map(|gid| format!("@{}", people::group(gid.0)));
    users.chain(groups).collect()
}
