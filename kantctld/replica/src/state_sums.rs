//! Comparison of the states of the members. Each computes a checksum of its state after the same
//! log entries and sends it to the others. A member whose state differs must not go on: it would
//! acknowledge and order what the others do not know.

use common::id::LogIndex;
use common::wire::peer::StateSum;
use std::collections::{BTreeMap, VecDeque};

/// The number of checksums kept of each member: others may be this many behind.
const KEPT: usize = 4;

/// The checksums of all members, as one of them knows them.
#[derive(Debug, Default)]
pub(crate) struct StateSums {
    own: VecDeque<StateSum>,
    others: BTreeMap<u64, VecDeque<StateSum>>,
    /// The last index at which an undecided difference was logged.
    logged: Option<LogIndex>,
}

/// What a member knows of its own state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// No other state is known, or most voters have this one.
    Same,
    /// Most voters have another state at this index.
    Differs(LogIndex),
    /// Some voters have another state at this index, and no state has a majority.
    Undecided(LogIndex),
}

impl StateSums {
    /// The latest checksum of this member, for the others.
    pub fn latest(&self) -> Option<StateSum> {
        self.own.back().copied()
    }

    pub fn note_own(&mut self, sum: StateSum) {
        push_newest(&mut self.own, sum);
    }

    /// The state was replaced by a snapshot of the leader.
    pub fn forget_own(&mut self) {
        self.own.clear();
    }

    /// Notes another member's checksum, which may be repeated.
    pub fn note(&mut self, from: u64, sum: StateSum) {
        push_newest(self.others.entry(from).or_default(), sum);
    }

    /// The index at which most voters have another state than this member, which must end then. A
    /// difference that no majority decides is only logged: ending could cost the others their
    /// majority, and this member may be the healthy one.
    pub fn check(&mut self, me: u64, voters: &[u64]) -> Option<LogIndex> {
        self.others.retain(|id, _| voters.contains(id));
        match self.find(me, voters) {
            Finding::Same => None,
            Finding::Differs(index) => Some(index),
            Finding::Undecided(index) => {
                if self.logged.replace(index) != Some(index) {
                    tracing::error!(
                        "controllers have different states after log entry {index}, and no state \
                         has a majority: the memory or disk of one of them may be faulty"
                    );
                }
                None
            }
        }
    }

    /// The newest index at which others are known decides.
    fn find(&self, me: u64, voters: &[u64]) -> Finding {
        for own in self.own.iter().rev() {
            let at = |id: u64| match id == me {
                true => Some(own.sum),
                false => {
                    self.others.get(&id)?.iter().find(|sum| sum.index == own.index).map(|s| s.sum)
                }
            };
            let sums: Vec<u32> = voters.iter().filter_map(|id| at(*id)).collect();
            let is_majority =
                |sum: u32| sums.iter().filter(|s| **s == sum).count() > voters.len() / 2;
            if is_majority(own.sum) {
                return Finding::Same;
            }
            if sums.iter().any(|sum| is_majority(*sum)) {
                return Finding::Differs(own.index);
            }
            if sums.iter().any(|sum| *sum != own.sum) {
                return Finding::Undecided(own.index);
            }
        }
        Finding::Same
    }
}

/// Keeps the newest. A member that has started again may report an index again.
fn push_newest(sums: &mut VecDeque<StateSum>, sum: StateSum) {
    sums.retain(|kept| kept.index < sum.index);
    if sums.len() == KEPT {
        sums.pop_front();
    }
    sums.push_back(sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOTERS: [u64; 3] = [1, 2, 3];

    fn sum(index: u64, sum: u32) -> StateSum {
        StateSum { index: LogIndex(index), sum }
    }

    /// Member 1, with its own checksum and those of others at index 10.
    fn member(own: u32, others: &[(u64, u32)]) -> StateSums {
        let mut sums = StateSums::default();
        sums.note_own(sum(10, own));
        others.iter().for_each(|(from, other)| sums.note(*from, sum(10, *other)));
        sums
    }

    const INDEX: Option<LogIndex> = Some(LogIndex(10));

    #[test]
    fn a_member_that_differs_from_the_majority_ends() {
        assert_eq!(member(7, &[(2, 8), (3, 8)]).check(1, &VOTERS), INDEX);
        assert_eq!(member(8, &[(2, 7), (3, 8)]).check(1, &VOTERS), None);
    }

    #[test]
    fn no_member_ends_while_no_state_has_a_majority() {
        assert_eq!(member(7, &[(2, 8)]).check(1, &VOTERS), None, "the third has not reported");
        assert_eq!(member(7, &[(2, 8)]).check(1, &[1, 2]), None, "one of two");
        assert_eq!(member(7, &[(2, 8), (3, 9)]).check(1, &VOTERS), None, "all differ");
        let mut sums = member(7, &[(2, 8)]);
        sums.note(3, sum(10, 7));
        assert_eq!(sums.check(1, &VOTERS), None, "most have the same state");
    }

    #[test]
    fn a_learner_is_compared_with_the_voters_and_does_not_count() {
        let voters = [2, 3];
        assert_eq!(member(7, &[(2, 8), (3, 8)]).check(1, &voters), INDEX);
        assert_eq!(member(8, &[(2, 8), (3, 8), (4, 7)]).check(1, &voters), None);
    }

    #[test]
    fn only_states_after_the_same_entry_are_compared_and_the_newest_decides() {
        let mut sums = member(7, &[]);
        sums.note(2, sum(20, 8));
        sums.note(3, sum(20, 8));
        assert_eq!(sums.check(1, &VOTERS), None);
        sums.note_own(sum(20, 9));
        assert_eq!(sums.check(1, &VOTERS), Some(LogIndex(20)));
        let mut sums = member(7, &[(2, 8), (3, 8)]);
        sums.note_own(sum(20, 9));
        [2, 3].into_iter().for_each(|from| sums.note(from, sum(20, 9)));
        assert_eq!(sums.check(1, &VOTERS), None, "it was the same later");
    }

    #[test]
    fn a_member_that_started_again_replaces_what_it_reported() {
        let mut sums = member(7, &[(2, 8), (3, 8)]);
        sums.note(2, sum(10, 7));
        assert_eq!(sums.check(1, &VOTERS), None);
        let mut sums = member(7, &[(2, 8), (3, 8)]);
        sums.forget_own();
        assert_eq!(sums.check(1, &VOTERS), None, "a snapshot has replaced the state");
    }
}
