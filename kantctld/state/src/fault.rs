//! Counts of faults, that is of attempts that failed through no fault of the job: how many in a
//! row, when the next attempt may start, and when to give up. `lifecycle` decides what counts as a
//! fault.

use common::id::Uid;
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// The delay after the first fault. Each further one in a row doubles it.
pub const BACK_OFF_MIN: Span = Span::from_seconds(10);

pub const BACK_OFF_MAX: Span = Span::from_minutes(10);

/// The number of faults in a row after which a job is held.
pub const FAULTS_MAX: u32 = 5;

/// The number of failed starts in a row after which a node is drained.
pub const NODE_FAULTS_MAX: u32 = 2;

/// Faults that the user may have caused count against a node only if this number of users met one.
const USERS_MIN: usize = 2;

/// The time after its allocation by which an attempt must run.
pub const START_MAX: Span = Span::from_minutes(5);

/// The maximum length of a node's message that is kept beyond its attempt, in characters.
const WHY_CHARS_MAX: usize = 200;

/// The faults of a job since its last attempt without one, or since a user intervened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// The number in a row, at least one.
    pub in_a_row: u32,
    /// The earliest start of the next attempt.
    pub not_before: Time,
    /// The last fault, if its node reported one.
    pub why: Option<String>,
}

impl Faults {
    /// Counts one more fault, of an attempt that ended at `ended_at`.
    #[must_use]
    pub(crate) fn with_one_more(before: Option<&Self>, ended_at: Time, why: Option<&str>) -> Self {
        let in_a_row = before.map_or(0, |faults| faults.in_a_row).saturating_add(1);
        Self { in_a_row, not_before: ended_at + back_off(in_a_row), why: why.map(short) }
    }

    #[must_use]
    pub const fn are_too_many(&self) -> bool {
        self.in_a_row >= FAULTS_MAX
    }
}

/// The failed starts on a node since its last successful one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeFaults {
    /// The number in a row.
    pub in_a_row: u32,
    /// Whether at least one of them was certainly not caused by the user.
    pub is_clear: bool,
    /// The first users whose jobs met them, each once.
    pub users: Vec<Uid>,
}

impl NodeFaults {
    /// Counts one more fault, which a job of this user met.
    pub(crate) fn note(&mut self, user: Uid, is_clear: bool) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.is_clear |= is_clear;
        if self.users.len() < USERS_MIN && !self.users.contains(&user) {
            self.users.push(user);
        }
    }

    /// Whether the node should be drained. A single user must not be able to take nodes out of
    /// service.
    #[must_use]
    pub fn should_drain(&self) -> bool {
        let is_nodes_own = self.is_clear || self.users.len() >= USERS_MIN;
        self.in_a_row >= NODE_FAULTS_MAX && is_nodes_own
    }
}

/// The delay after this number of faults in a row.
pub(crate) fn back_off(in_a_row: u32) -> Span {
    let doubled = 1_u64.checked_shl(in_a_row.saturating_sub(1)).unwrap_or(u64::MAX);
    BACK_OFF_MAX.min(Span(BACK_OFF_MIN.0.saturating_mul(doubled)))
}

/// Shortens a node's message to what is kept.
pub(crate) fn short(why: &str) -> String {
    why.chars().take(WHY_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_in_a_row_doubles_the_wait_up_to_ten_minutes() {
        let waits: Vec<u64> =
            [1, 2, 3, 6, 7, 64, 65, u32::MAX].map(|n| back_off(n).0 / 1000).into();
        assert_eq!(waits, [10, 20, 40, 320, 600, 600, 600, 600]);
    }

    #[test]
    fn faults_are_counted_until_there_are_enough() {
        let mut faults = Faults::with_one_more(None, Time(5), Some("no spool"));
        assert_eq!((faults.in_a_row, faults.not_before), (1, Time(10_005)));
        for _ in 1..FAULTS_MAX {
            assert!(!faults.are_too_many());
            faults = Faults::with_one_more(Some(&faults), Time(5), None);
        }
        assert!(faults.are_too_many());
        assert_eq!(faults.why, None, "the last one said nothing");
    }
}
