//! The groups of users, as this host's user database has them. They are kept for a minute: each
//! request needs them, and the database may be on the network.

use common::id::{Gid, Uid};
use common::sync::Mutex;
use net::UserRecord;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// After this time a request looks the groups up again.
const KEPT: Duration = Duration::from_secs(60);
/// Older answers do not count: a request that lasts is checked again with the answer of its start.
const TRUSTED: Duration = Duration::from_secs(120);
/// The most users of which groups are kept.
const USERS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct GroupCache(Mutex<BTreeMap<Uid, Known>>);

#[derive(Debug)]
struct Known {
    at: Instant,
    groups: BTreeSet<Gid>,
}

impl GroupCache {
    /// Whether an answer is recent enough for a new request.
    pub fn is_fresh(&self, uid: Uid) -> bool {
        self.0.lock().get(&uid).is_some_and(|known| known.at.elapsed() < KEPT)
    }

    /// Looks the groups up. May block. Of a user whose groups cannot be read, none are known.
    pub fn look_up(&self, uid: Uid) {
        let record = UserRecord::look_up(uid.0, uid.0);
        let mut all = self.0.lock();
        match record {
            Ok(record) => {
                if all.len() >= USERS_MAX {
                    all.clear();
                }
                let groups = record.groups.into_iter().map(Gid).collect();
                all.insert(uid, Known { at: Instant::now(), groups });
            }
            Err(error) => {
                all.remove(&uid);
                drop(all);
                tracing::warn!(
                    "failed to look up the groups of user {uid}, so none count: {error}"
                );
            }
        }
    }

    /// The groups, as last looked up.
    pub fn groups(&self, uid: Uid) -> BTreeSet<Gid> {
        let all = self.0.lock();
        let known = all.get(&uid).filter(|known| known.at.elapsed() < TRUSTED);
        known.map(|known| known.groups.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_count_once_they_are_looked_up() {
        let cache = GroupCache::default();
        assert!(!cache.is_fresh(Uid(0)) && cache.groups(Uid(0)).is_empty());
        cache.look_up(Uid(0));
        assert!(cache.is_fresh(Uid(0)) && cache.groups(Uid(0)).contains(&Gid(0)));
        cache.look_up(Uid(3_999_999_999));
        assert!(cache.groups(Uid(3_999_999_999)).is_empty(), "of a user that does not exist");
    }
}
