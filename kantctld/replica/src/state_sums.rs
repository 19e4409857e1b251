//! Comparison of the states of the members. Each computes a checksum of its state after the same
//! log entries and sends it to the others. A member whose state differs must not go on: it would
//! acknowledge and order what the others do not know.

use common::id::LogIndex;
use common::wire::peer::StateSum;
use std::collections::{BTreeMap, VecDeque};

/// The number of checksums kept of each member: others may be this many behind.
const KEPT: usize = 4;
/// How long a difference from the leader may stay undecided, because too few voters have reported,
/// in ticks. Then the leader's state counts.
const UNDECIDED_TICKS_MAX: u32 = 200;

/// The checksums of all members, as one of them knows them.
#[derive(Debug, Default)]
pub(crate) struct StateSums {
    own: VecDeque<StateSum>,
    others: BTreeMap<u64, VecDeque<StateSum>>,
    /// How long the difference has been undecided.
    undecided_ticks: u32,
}

/// What a member knows of its own state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// No member that counts has another state.
    Same,
    /// Most voters have another state at this index.
    Differs(LogIndex),
    /// The leader has another state, and neither of the two has a majority.
    Undecided(LogIndex),
}

impl StateSums {
    /// The latest checksum of this member, for the others.
    pub fn latest(&self) -> Option<StateSum> {
        self.own.back().copied()
    }

    pub fn note_own(&mut self, sum: StateSum) {
        keep(&mut self.own, sum);
    }

    /// Notes another member's checksum, which may be repeated.
    pub fn note(&mut self, from: u64, sum: StateSum) {
        keep(self.others.entry(from).or_default(), sum);
    }

    /// Counts a tick. Returns the index at which this member's state was found to differ, if it
    /// must end. `leader` is 0 if there is none.
    pub fn tick(&mut self, me: u64, voters: &[u64], leader: u64) -> Option<LogIndex> {
        self.others.retain(|id, _| voters.contains(id));
        match self.find(me, voters, leader) {
            Finding::Same => self.undecided_ticks = 0,
            Finding::Differs(index) => return Some(index),
            Finding::Undecided(index) => {
                self.undecided_ticks += 1;
                if self.undecided_ticks > UNDECIDED_TICKS_MAX {
                    return Some(index);
                }
            }
        }
        None
    }

    fn find(&self, me: u64, voters: &[u64], leader: u64) -> Finding {
        let mut undecided = None;
        for own in &self.own {
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
                continue;
            }
            if sums.iter().any(|sum| is_majority(*sum)) {
                return Finding::Differs(own.index);
            }
            if leader != me && at(leader).is_some_and(|sum| sum != own.sum) {
                undecided = Some(own.index);
            }
        }
        undecided.map_or(Finding::Same, Finding::Undecided)
    }
}

fn keep(sums: &mut VecDeque<StateSum>, sum: StateSum) {
    if sums.back().is_some_and(|last| last.index >= sum.index) {
        return;
    }
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

    #[test]
    fn a_member_that_differs_from_the_majority_ends_even_if_it_leads() {
        for leader in [0, 1, 2] {
            assert_eq!(member(7, &[(2, 8), (3, 8)]).tick(1, &VOTERS, leader), Some(LogIndex(10)));
            assert_eq!(member(8, &[(2, 7), (3, 8)]).tick(1, &VOTERS, leader), None);
        }
    }

    #[test]
    fn two_that_differ_wait_for_the_third_and_then_the_follower_ends() {
        let mut sums = member(7, &[(2, 8)]);
        for _ in 0..UNDECIDED_TICKS_MAX {
            assert_eq!(sums.tick(1, &VOTERS, 2), None);
        }
        assert_eq!(sums.tick(1, &VOTERS, 2), Some(LogIndex(10)));
        let mut leading = member(7, &[(2, 8)]);
        assert!((0..1_000).all(|_| leading.tick(1, &VOTERS, 1).is_none()), "the leader goes on");
        let mut sums = member(7, &[(2, 8)]);
        sums.note(3, sum(10, 7));
        assert_eq!(sums.tick(1, &VOTERS, 2), None, "most have the same state");
    }

    #[test]
    fn a_learner_is_compared_with_the_voters_and_does_not_count() {
        let voters = [2, 3];
        assert_eq!(member(7, &[(2, 8), (3, 8)]).tick(1, &voters, 2), Some(LogIndex(10)));
        assert_eq!(member(8, &[(2, 8), (3, 8), (4, 7)]).tick(1, &voters, 2), None);
    }

    #[test]
    fn only_states_after_the_same_entry_are_compared() {
        let mut sums = member(7, &[]);
        sums.note(2, sum(20, 8));
        sums.note(3, sum(20, 8));
        assert_eq!(sums.tick(1, &VOTERS, 2), None);
        sums.note_own(sum(20, 9));
        assert_eq!(sums.tick(1, &VOTERS, 2), Some(LogIndex(20)));
    }
}
