//! The users and groups that a list in the configuration names.

use crate::host_names::HostNames;
use common::config::policy::Names as _;
use common::id::{Gid, Uid};
use std::collections::BTreeSet;

/// Why a list of members is invalid.
#[derive(Debug, thiserror::Error)]
pub enum RolesError {
    #[error("{key}: user `{name}` does not exist on this host: give a user name, a uid or @GROUP")]
    User { key: String, name: String },
    #[error("{key}: group `{name}` does not exist on this host: give @ and a group name or gid")]
    Group { key: String, name: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Members {
    users: BTreeSet<Uid>,
    groups: BTreeSet<Gid>,
}

impl Members {
    /// Reads the list of this key. Names that this host does not know are left out, and added to
    /// `unknown`. Digits are a name first, because there may be one. May block.
    pub fn read(key: &str, entries: &[String], unknown: &mut Vec<RolesError>) -> Self {
        let mut members = Self::default();
        for entry in entries {
            let key = key.to_owned();
            match entry.strip_prefix('@') {
                Some(name) => match HostNames.group(name).or_else(|| name.parse().map(Gid).ok()) {
                    Some(gid) => _ = members.groups.insert(gid),
                    None => unknown.push(RolesError::Group { key, name: name.to_owned() }),
                },
                None => match HostNames.user(entry).or_else(|| entry.parse().map(Uid).ok()) {
                    Some(uid) => _ = members.users.insert(uid),
                    None => unknown.push(RolesError::User { key, name: entry.clone() }),
                },
            }
        }
        members
    }

    pub fn with_users(mut self, users: impl IntoIterator<Item = Uid>) -> Self {
        self.users.extend(users);
        self
    }

    /// Whether a user is a member by uid.
    pub fn has_user(&self, uid: Uid) -> bool {
        self.users.contains(&uid)
    }

    pub fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Whether a user with these groups is a member.
    pub fn has(&self, uid: Uid, groups: &BTreeSet<Gid>) -> bool {
        self.has_user(uid) || !self.groups.is_disjoint(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entries: &[&str]) -> (Members, Vec<RolesError>) {
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        let mut unknown = Vec::new();
        (Members::read("roles.support", &entries, &mut unknown), unknown)
    }

    #[test]
    fn users_and_groups_are_read_by_name_and_number() {
        let (members, unknown) = read(&["root", "4711", "@root", "@4712"]);
        assert!(unknown.is_empty(), "{unknown:?}");
        let groups = |gid| BTreeSet::from([Gid(gid)]);
        for (uid, gid, is_one) in
            [(0, 7, true), (4711, 7, true), (7, 0, true), (7, 4712, true), (4712, 4711, false)]
        {
            assert_eq!(members.has(Uid(uid), &groups(gid)), is_one, "{uid} {gid}");
        }
        assert!(members.has_groups() && !read(&["root"]).0.has_groups());
    }

    #[test]
    fn unknown_names_are_left_out_and_reported_with_their_key() {
        for (entry, kind) in [("no-such", "user"), ("@no-such", "group"), ("", "user")] {
            let (members, unknown) = read(&["root", entry]);
            assert_eq!(members, read(&["root"]).0);
            let message = unknown[0].to_string();
            let name = entry.trim_start_matches('@');
            let start = format!("roles.support: {kind} `{name}` does not exist on this host");
            assert!(message.starts_with(&start), "{message}");
        }
    }
}
