//! Programs that live on a lease: who started one asks for it again and again, and when nobody has
//! for too long, it is told to end, and then made to. A kantd that starts anew learns of each lease
//! when its program is asked for. Never ends a program itself, and never one that stands still.

use common::id::{AttemptId, TaskNumber};
use common::time::Span;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between SIGHUP and SIGKILL: who starts tasks gives them a grace of their own. Not SIGTERM: that
/// is for all of a job, and comes to its tasks, too.
const PATIENCE: Duration = Duration::from_secs(30);

pub type Key = (AttemptId, TaskNumber);

/// How a program stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It runs, or is about to.
    Alive,
    /// Its job stands still, and whoever asked for it may, too.
    Still,
    Over,
}

#[derive(Debug)]
struct Lease {
    length: Duration,
    asked: Instant,
    /// When it was told to end.
    told: Option<Instant>,
}

#[derive(Debug, Default)]
pub struct Leases(Mutex<BTreeMap<Key, Lease>>);

impl Leases {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Lease>> {
        // Every change to the map is one call: a panic elsewhere leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody asks for it, who says how long its lease is; `None`: they do not hold it.
    pub fn hold(&self, key: Key, length: Option<Span>) {
        let Some(length) = length.map(|length| Duration::from_millis(length.0)) else { return };
        self.lock().insert(key, Lease { length, asked: Instant::now(), told: None });
    }

    /// As if somebody had asked for each just now.
    pub fn renew_all(&self) {
        let now = Instant::now();
        self.lock().values_mut().for_each(|lease| lease.asked = now);
    }

    /// Whose lease is over, and what each is to be told now.
    pub fn over(&self, standing: impl Fn(Key) -> Standing) -> Vec<(Key, Signal)> {
        let now = Instant::now();
        let mut over = Vec::new();
        self.lock().retain(|key, lease| {
            match standing(*key) {
                Standing::Over => return false,
                Standing::Still => lease.asked = now,
                Standing::Alive => {}
            }
            match lease.told {
                None if now.duration_since(lease.asked) >= lease.length => {
                    lease.told = Some(now);
                    over.push((*key, Signal::SIGHUP));
                }
                Some(told) if now.duration_since(told) >= PATIENCE => {
                    lease.told = Some(now);
                    over.push((*key, Signal::SIGKILL));
                }
                _ => {}
            }
            true
        });
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{Attempt, JobId, JobKey};

    fn key(task: u64) -> Key {
        let id = AttemptId { key: JobKey::single(JobId(7)), attempt: Attempt(1) };
        (id, TaskNumber(task))
    }

    #[test]
    fn who_is_not_asked_for_is_told_to_end_once_and_who_is_over_is_forgotten() {
        let leases = Leases::default();
        leases.hold(key(1), Some(Span(0)));
        leases.hold(key(2), Some(Span::from_minutes(5)));
        leases.hold(key(3), None);
        let alive = |_| Standing::Alive;
        assert_eq!(leases.over(alive), [(key(1), Signal::SIGHUP)]);
        assert_eq!(leases.over(alive), []);
        assert_eq!(leases.over(|_| Standing::Over), []);
        assert!(leases.lock().is_empty());
    }
}
