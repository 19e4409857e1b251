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
