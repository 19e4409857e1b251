//! The accounts that a user may charge, as sacctmgr and sshare list them: those that name the user
//! or one of the user's groups, and those open to all. Groups come from this host's user database.

use cli::output::user_names;
use common::id::{Gid, Uid};
use common::policy::Access;
use nix::unistd::{User, getgrouplist};
use std::ffi::CString;

/// A user with all groups that this host knows.
#[derive(Debug)]
pub struct Member {
    /// The name, or the text that was typed if the user is unknown.
    pub name: String,
    uid: Option<Uid>,
    groups: Vec<Gid>,
}

impl Member {
    /// Looks a user up by name or number.
    #[must_use]
    pub fn lookup(text: &str) -> Self {
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

    #[must_use]
    pub fn current_user() -> Self {
        Self::lookup(&nix::unistd::getuid().to_string())
    }

    /// Whether this user may charge an account with this access list.
    #[must_use]
    pub fn may_charge(&self, access: &Access) -> bool {
        match self.uid {
            Some(uid) => access.allows(uid, &self.groups, None),
            None => access.is_open(),
        }
    }
}

/// The users of an access list by name, and its groups as `@name`.
#[must_use]
pub fn access_names(access: &Access) -> Vec<String> {
    let users = access.users.iter().map(|uid| user_names::user(uid.0));
    let groups = access.groups.iter().map(|gid| format!("@{}", user_names::group(gid.0)));
    users.chain(groups).collect()
}
