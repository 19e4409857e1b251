//! The groups of users, as this host's user database has them. They are kept for a minute: each
//! request needs them, and the database may be on the network.

use common::id::{Gid, Uid};
use common::sync::Mutex;
use net::{UserGroups, UserRecord};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long an answer counts.
const KEPT: Duration = Duration::from_secs(60);
/// How long it counts that there was none.
const FAILURE_KEPT: Duration = Duration::from_secs(5);
/// How long a request waits for an answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// The most lookups at one time. Those of one user follow each other.
const TURNS: usize = 8;
/// The most users of which groups are kept.
const USERS_MAX: usize = 10_000;

type Turn = Arc<tokio::sync::Mutex<()>>;

#[derive(Debug)]
pub struct GroupCache {
    known: Mutex<BTreeMap<Uid, Known>>,
    turns: [Turn; TURNS],
    patience: Duration,
    allow_unknown_users: bool,
}

#[derive(Debug)]
struct Known {
    until: Instant,
    /// Whether the last lookup had an answer.
    is_answer: bool,
    /// Of the last lookup that had one.
    groups: UserGroups,
}

impl GroupCache {
    pub fn new(allow_unknown_users: bool) -> Self {
        let turns = std::array::from_fn(|_| Turn::default());
        Self { known: Mutex::default(), turns, patience: PATIENCE, allow_unknown_users }
    }

    /// The groups of a user. `None` if the database does not answer, or does not have the user
    /// where users must be in it: a directory that is not reached looks like that, too.
    pub async fn groups(self: Arc<Self>, uid: Uid) -> Option<UserGroups> {
        if let Some(answer) = self.recent(uid, Instant::now()) {
            return answer;
        }
        let this = self.clone();
        let looking = async move {
            let turn = this.turns[uid.0 as usize % TURNS].clone().lock_owned().await;
            if let Some(answer) = this.recent(uid, Instant::now()) {
                return answer;
            }
            let look_up = move || {
                // Until the database answers, even if no request waits for it any more.
                let _turn = turn;
                let answer = this.look_up(uid);
                this.insert(uid, Instant::now(), answer.clone());
                answer
            };
            // An error means that the controller stops.
            tokio::task::spawn_blocking(look_up).await.ok().flatten()
        };
        timeout(self.patience, looking).await.unwrap_or_else(|_| {
            tracing::warn!("no answer about the groups of user {uid} in time, so none count");
            self.insert(uid, Instant::now(), None);
            None
        })
    }

    /// The last answer, however old. For limits only, never for a right.
    pub fn last(&self, uid: Uid) -> UserGroups {
        self.known.lock().get(&uid).map(|known| known.groups.clone()).unwrap_or_default()
    }

    /// May block.
    fn look_up(&self, uid: Uid) -> Option<UserGroups> {
        match UserRecord::look_up(uid.0, uid.0) {
            Ok(record) if record.entry.is_none() && !self.allow_unknown_users => None,
            Ok(record) => Some(UserGroups(Arc::new(record.groups.into_iter().map(Gid).collect()))),
            Err(error) => {
                tracing::warn!(
                    "failed to look up the groups of user {uid}, so none count: {error}"
                );
                None
            }
        }
    }

    /// An answer that still counts, or that there was none.
    fn recent(&self, uid: Uid, now: Instant) -> Option<Option<UserGroups>> {
        let all = self.known.lock();
        let known = all.get(&uid).filter(|known| now < known.until)?;
        Some(known.is_answer.then(|| known.groups.clone()))
    }

    fn insert(&self, uid: Uid, now: Instant, answer: Option<UserGroups>) {
        let mut all = self.known.lock();
        if all.len() >= USERS_MAX && !all.contains_key(&uid) {
            let last = all.iter().min_by_key(|(_, known)| (known.is_answer, known.until));
            if let Some(gone) = last.map(|(uid, _)| *uid) {
                all.remove(&gone);
            }
        }
        let is_answer = answer.is_some();
        let until = now + if is_answer { KEPT } else { FAILURE_KEPT };
        let before = || all.get(&uid).map(|known| known.groups.clone()).unwrap_or_default();
        let groups = answer.unwrap_or_else(before);
        all.insert(uid, Known { until, is_answer, groups });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: Uid = Uid(7);

    fn cache(allow_unknown_users: bool) -> Arc<GroupCache> {
        Arc::new(GroupCache::new(allow_unknown_users))
    }

    fn groups(gid: u32) -> UserGroups {
        UserGroups(Arc::new([Gid(gid)].into()))
    }

    #[tokio::test]
    async fn a_user_who_is_not_known_has_no_answer_unless_such_users_are_allowed() {
        let root = cache(false).groups(Uid(0)).await.unwrap();
        assert!(root.0.contains(&Gid(0)));
        assert_eq!(cache(false).groups(Uid(3_999_999_999)).await, None);
        assert!(cache(true).groups(Uid(3_999_999_999)).await.is_some());
    }

    #[test]
    fn an_answer_counts_for_a_minute_and_that_there_is_none_for_seconds() {
        let (cache, start) = (cache(false), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(cache.recent(USER, start), None);
        cache.insert(USER, start, Some(groups(1)));
        assert_eq!(cache.recent(USER, after(59)), Some(Some(groups(1))));
        assert_eq!(cache.recent(USER, after(60)), None, "looked up again");
        cache.insert(USER, after(60), Some(groups(2)));
        assert_eq!(cache.recent(USER, after(61)), Some(Some(groups(2))), "the group changed");
        cache.insert(USER, after(120), None);
        assert_eq!(cache.recent(USER, after(124)), Some(None), "old groups do not count");
        assert_eq!(cache.recent(USER, after(125)), None);
        assert_eq!(cache.last(USER), groups(2), "for limits they do");
    }

    #[test]
    fn many_users_push_out_one_another_and_first_those_without_an_answer() {
        let (cache, start) = (cache(false), Instant::now());
        cache.insert(USER, start, Some(groups(1)));
        for uid in 0..20_000 {
            cache.insert(Uid(1_000_000 + uid), start + KEPT / 2, None);
        }
        assert_eq!(cache.recent(USER, start + KEPT / 2), Some(Some(groups(1))));
        assert_eq!(cache.known.lock().len(), USERS_MAX);
    }

    #[tokio::test]
    async fn lookups_of_one_user_follow_each_other_and_no_request_waits_for_ever() {
        let patience = Duration::from_millis(10);
        let cache = Arc::new(GroupCache { patience, ..GroupCache::new(false) });
        let turn = cache.turns[0].clone().lock_owned().await;
        assert_eq!(cache.clone().groups(Uid(0)).await, None, "the database does not answer");
        drop(turn);
        assert_eq!(cache.clone().groups(Uid(0)).await, None, "for a while it is not asked again");
        assert_eq!(cache.recent(Uid(0), Instant::now() + FAILURE_KEPT), None);
    }
}
