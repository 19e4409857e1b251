//! Attempts that failed for no fault of their job's: how many in a row, when the next one may
//! start, and when to stop trying. Never says whose fault it was; `life` does.

use common::id::Uid;
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// The wait after the first faulty attempt; each further one in a row doubles it.
pub const BACK_OFF_MIN: Span = Span::from_seconds(10);

pub const BACK_OFF_MAX: Span = Span::from_minutes(10);

/// After so many faulty attempts in a row a job is held.
pub const FAULTS_MAX: u32 = 5;

/// After so many faults in a row, without a start that went well between them, a node is drained.
pub const NODE_FAULTS_MAX: u32 = 2;

/// Faults that a user may have had a part in count against a node once so many users met one.
const USERS_MIN: usize = 2;

/// An attempt is to be running so long after it was given its allocation.
pub const START_MAX: Span = Span::from_minutes(5);

/// The longest words of a node that are kept beyond the attempt they are about, in characters.
const WHY_CHARS_MAX: usize = 200;

/// The faulty attempts of a job, since one ended otherwise or somebody stepped in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// How many in a row; at least one.
    pub in_a_row: u32,
    /// No attempt starts before this.
    pub not_before: Time,
    /// What was wrong with the last one, if its node said so.
    pub why: Option<String>,
}

impl Faults {
    /// One more faulty attempt, which ended then.
    #[must_use]
    pub(crate) fn after(before: Option<&Self>, ended_at: Time, why: Option<&str>) -> Self {
        let in_a_row = before.map_or(0, |faults| faults.in_a_row).saturating_add(1);
        Self { in_a_row, not_before: ended_at + back_off(in_a_row), why: why.map(short) }
    }

    #[must_use]
    pub const fn is_enough(&self) -> bool {
        self.in_a_row >= FAULTS_MAX
    }
}

/// The starts on a node that failed by its fault, since one went well there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeFaults {
    /// How many in a row.
    pub in_a_row: u32,
    /// No user had a part in one of them.
    pub is_clear: bool,
    /// Whose jobs met them: the first of them, each once.
    pub users: Vec<Uid>,
}

impl NodeFaults {
    /// One more, which a job of this user met.
    pub(crate) fn note(&mut self, user: Uid, is_clear: bool) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.is_clear |= is_clear;
        if self.users.len() < USERS_MIN && !self.users.contains(&user) {
            self.users.push(user);
        }
    }

    /// Is that enough to drain the node? One user alone must not be able to take nodes out.
    #[must_use]
    pub fn are_enough(&self) -> bool {
        let is_nodes_own = self.is_clear || self.users.len() >= USERS_MIN;
        self.in_a_row >= NODE_FAULTS_MAX && is_nodes_own
    }
}

/// How long a job waits after so many faulty attempts in a row.
fn back_off(in_a_row: u32) -> Span {
    let doubled = 1_u64.checked_shl(in_a_row.saturating_sub(1)).unwrap_or(u64::MAX);
    BACK_OFF_MAX.min(Span(BACK_OFF_MIN.0.saturating_mul(doubled)))
}

/// A node's words, cut to what is kept.
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
        let mut faults = Faults::after(None, Time(5), Some("no spool"));
        assert_eq!((faults.in_a_row, faults.not_before), (1, Time(10_005)));
        for _ in 1..FAULTS_MAX {
            assert!(!faults.is_enough());
            faults = Faults::after(Some(&faults), Time(5), None);
        }
        assert!(faults.is_enough());
        assert_eq!(faults.why, None, "the last one said nothing");
    }
}
