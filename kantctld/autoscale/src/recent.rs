//! The largest, or the smallest, of the numbers that a rule wanted within a span.

use common::autoscale::Replicas;
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// Entries that are kept at most. With more, two that are close in time become one.
const ENTRIES_MAX: usize = 32;

/// Numbers that a rule wanted, as far as they may still be the extreme one. They are kept in order
/// of time, and each is nearer to the newest than the one before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recent(Vec<Entry>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    at: Time,
    replicas: Replicas,
}

impl Recent {
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records what is wanted now. Returns the largest number within the span. `current` stands for
    /// the past if nothing is known of it, so that a new leader removes no replica at once.
    pub fn record_and_largest(
        &mut self,
        wanted: Replicas,
        current: Replicas,
        span: Span,
        now: Time,
    ) -> Replicas {
        self.record(wanted, current, span, now, |old, new| old > new)
    }

    /// Records what is wanted now. Returns the smallest number within the span.
    pub fn record_and_smallest(
        &mut self,
        wanted: Replicas,
        current: Replicas,
        span: Span,
        now: Time,
    ) -> Replicas {
        self.record(wanted, current, span, now, |old, new| old < new)
    }

    fn record(
        &mut self,
        wanted: Replicas,
        current: Replicas,
        span: Span,
        now: Time,
        stays: impl Fn(Replicas, Replicas) -> bool,
    ) -> Replicas {
        if span.is_zero() {
            self.0.clear();
            return wanted;
        }
        self.0.retain(|entry| entry.at <= now && now.since(entry.at) < span);
        if self.0.is_empty() {
            self.0.push(Entry { at: now, replicas: current });
        }
        while self.0.last().is_some_and(|last| !stays(last.replicas, wanted)) {
            self.0.pop();
        }
        self.0.push(Entry { at: now, replicas: wanted });
        self.merge_closest_entries();
        self.0.first().map_or(wanted, |first| first.replicas)
    }

    /// Of the two entries that are closest in time, the older number is kept for as long as the
    /// newer one: a change may come later by a small part of the span, and never earlier.
    fn merge_closest_entries(&mut self) {
        while self.0.len() > ENTRIES_MAX {
            let gap = |at: &usize| self.0[at + 1].at.since(self.0[*at].at);
            let Some(at) = (0..self.0.len() - 2).min_by_key(gap) else { return };
            self.0[at].at = self.0[at + 1].at;
            self.0.remove(at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUTE: Span = Span::from_minutes(1);

    fn at(seconds: u64) -> Time {
        Time(0) + Span::from_seconds(seconds)
    }

    #[test]
    fn the_extreme_number_counts_until_it_is_old() {
        let mut recent = Recent::default();
        let mut largest = |wanted, seconds| {
            recent.record_and_largest(Replicas(wanted), Replicas(3), MINUTE, at(seconds)).0
        };
        assert_eq!(largest(2, 0), 3, "the current number, of a past that is not known");
        assert_eq!(largest(5, 10), 5);
        assert_eq!(largest(4, 20), 5);
        assert_eq!(largest(1, 69), 5);
        assert_eq!(largest(1, 70), 4);
        assert_eq!(largest(1, 80), 1);
        let mut recent = Recent::default();
        let mut smallest = |wanted, seconds| {
            recent.record_and_smallest(Replicas(wanted), Replicas(3), MINUTE, at(seconds)).0
        };
        assert_eq!([smallest(9, 0), smallest(8, 59), smallest(8, 60)], [3, 3, 8]);
    }

    #[test]
    fn without_a_span_nothing_is_kept() {
        let mut recent = Recent::default();
        assert_eq!(
            recent.record_and_largest(Replicas(2), Replicas(9), Span(0), at(0)),
            Replicas(2)
        );
        assert!(recent.is_empty());
    }

    proptest! {
        #[test]
        fn it_is_small_and_never_forgets_early(
            wanted in proptest::collection::vec(0..100_u32, 1..300),
        ) {
            let mut recent = Recent::default();
            for (second, number) in wanted.iter().enumerate() {
                let (number, now) = (Replicas(*number), at(second as u64));
                let largest = recent.record_and_largest(number, Replicas(0), MINUTE, now);
                let begin = (second + 1).saturating_sub(60);
                let exact = wanted[begin..=second].iter().max().copied().unwrap();
                let longer = wanted[second.saturating_sub(64)..=second].iter().max().copied();
                prop_assert!(largest.0 >= exact);
                prop_assert!(largest.0 <= longer.unwrap());
                prop_assert!(recent.0.len() <= ENTRIES_MAX);
            }
        }
    }
}
