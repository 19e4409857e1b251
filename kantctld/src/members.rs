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
    /// Reads the list of this key. May block.
    ///
    /// # Errors
    /// [`RolesError`] for a name that this host does not know.
    pub fn read(key: &str, entries: &[String]) -> Result<Self, RolesError> {
        let mut members = Self::default();
        for entry in entries {
            match entry.strip_prefix('@') {
                Some(name) => {
                    let gid = name.parse().map(Gid).ok().or_else(|| HostNames.group(name));
                    let (key, name) = (key.to_owned(), name.to_owned());
                    members.groups.insert(gid.ok_or(RolesError::Group { key, name })?);
                }
                None => {
                    let uid = entry.parse().map(Uid).ok().or_else(|| HostNames.user(entry));
                    let (key, name) = (key.to_owned(), entry.clone());
                    members.users.insert(uid.ok_or(RolesError::User { key, name })?);
                }
            }
        }
        Ok(members)
    }

    pub fn with_users(mut self, users: impl IntoIterator<Item = Uid>) -> Self {
        self.users.extend(users);
        self
    }

    pub fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Whether a user with these groups is a member.
    pub fn has(&self, uid: Uid, groups: &BTreeSet<Gid>) -> bool {
        self.users.contains(&uid) || !self.groups.is_disjoint(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entries: &[&str]) -> Result<Members, RolesError> {
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        Members::read("roles.support", &entries)
    }

    #[test]
    fn users_and_groups_are_read_by_name_and_number() {
        let members = read(&["root", "4711", "@root", "@4712"]).unwrap();
        let groups = |gid| BTreeSet::from([Gid(gid)]);
        for (uid, gid, is_one) in
            [(0, 7, true), (4711, 7, true), (7, 0, true), (7, 4712, true), (4712, 4711, false)]
        {
            assert_eq!(members.has(Uid(uid), &groups(gid)), is_one, "{uid} {gid}");
        }
        assert!(members.has_groups() && !read(&["root"]).unwrap().has_groups());
    }

    #[test]
    fn unknown_names_are_refused_with_their_key() {
        for (entry, kind) in [("no-such", "user"), ("@no-such", "group"), ("", "user")] {
            let message = read(&["root", entry]).unwrap_err().to_string();
            let name = entry.trim_start_matches('@');
            let start = format!("roles.support: {kind} `{name}` does not exist on this host");
            assert!(message.starts_with(&start), "{message}");
        }
    }
}
