//! Lookup of this host's users and groups. Answers are not cached, because the databases may
//! change.

use common::config::policy::Names;
use common::id::{Gid, Uid};
use nix::unistd::{Group, User};

/// Uses NSS and may block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostNames;

impl Names for HostNames {
    fn user(&self, name: &str) -> Option<Uid> {
        User::from_name(name).ok().flatten().map(|user| Uid(user.uid.as_raw()))
    }

    fn group(&self, name: &str) -> Option<Gid> {
        Group::from_name(name).ok().flatten().map(|group| Gid(group.gid.as_raw()))
    }
}

/// The name of a user, or the uid as text. May block.
#[must_use]
pub fn user_name(uid: u32) -> String {
    let user = User::from_uid(nix::unistd::Uid::from_raw(uid)).ok().flatten();
    user.map_or_else(|| uid.to_string(), |user| user.name)
}

/// The name of a group, or the gid as text. May block.
#[must_use]
pub fn group_name(gid: Gid) -> String {
    let group = Group::from_gid(nix::unistd::Gid::from_raw(gid.0)).ok().flatten();
    group.map_or_else(|| gid.to_string(), |group| group.name)
}
