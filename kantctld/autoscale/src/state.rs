//! What is kept from one decision to the next.

use crate::recent::Recent;
use common::autoscale::Replicas;
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// Changes that are kept at most. With more, the oldest two become one.
const CHANGES_MAX: usize = 16;

/// What is kept from one decision to the next: at most 4 KiB. A role that has made no decision yet,
/// or whose state is lost, begins with the default. That delays the removal of replicas, and
/// nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// The burst that is going on, or ended within the stable window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panic: Option<Panic>,
    /// Since when no replica has been needed, while there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_up: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_down: Option<Time>,
    /// For delays of removals.
    #[serde(skip_serializing_if = "Recent::is_empty")]
    pub maxima: Recent,
    /// For delays of additions.
    #[serde(skip_serializing_if = "Recent::is_empty")]
    pub minima: Recent,
    /// The changes of the last period, oldest first, for limits of the pace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panic {
    /// When the load was last above the threshold.
    pub last: Time,
    /// The most replicas that were wanted since it began.
    pub replicas: Replicas,
}

/// A change of the number of replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub at: Time,
    pub from: Replicas,
    pub to: Replicas,
}

impl State {
    /// Records a decision, and forgets the changes before the period.
    pub(crate) fn record_change(&mut self, change: Change, period: Span) {
        self.changes.retain(|old| change.at.since(old.at) < period);
        if change.from == change.to {
            return;
        }
        let last = if change.from < change.to { &mut self.last_up } else { &mut self.last_down };
        *last = Some(change.at);
        let is_repeated = |last: &Change| (last.from, last.to) == (change.from, change.to);
        if period.is_zero() || self.changes.last().is_some_and(is_repeated) {
            return;
        }
        self.changes.push(change);
        if self.changes.len() > CHANGES_MAX {
            let first = self.changes.remove(0);
            self.changes[0].from = first.from;
        }
    }

    /// The number of replicas when the period began.
    pub(crate) fn replicas_at_period_begin(
        &self,
        current: Replicas,
        period: Span,
        now: Time,
    ) -> Replicas {
        let recent = self.changes.iter().filter(|change| now.since(change.at) < period);
        let signed = |replicas: Replicas| i64::from(replicas.0);
        let begin = recent
            .fold(signed(current), |sum, change| sum - signed(change.to) + signed(change.from));
        Replicas(u32::try_from(begin.max(0)).unwrap_or(u32::MAX))
    }

    /// When the number of replicas last changed.
    pub(crate) fn last_change(&self) -> Option<Time> {
        self.last_up.max(self.last_down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Span = Span::from_seconds(15);

    fn change(seconds: u64, from: u32, to: u32) -> Change {
        let at = Time(0) + Span::from_seconds(seconds);
        Change { at, from: Replicas(from), to: Replicas(to) }
    }

    #[test]
    fn changes_of_the_period_are_taken_back() {
        let mut state = State::default();
        for change in [change(0, 2, 4), change(10, 4, 7), change(12, 7, 6)] {
            state.record_change(change, PERIOD);
        }
        let begin = |seconds| {
            let now = Time(0) + Span::from_seconds(seconds);
            state.replicas_at_period_begin(Replicas(6), PERIOD, now).0
        };
        assert_eq!([begin(14), begin(15), begin(26), begin(27)], [2, 4, 7, 6]);
        assert_eq!(state.last_change(), Some(Time(12_000)));
    }

    #[test]
    fn a_decision_that_is_repeated_counts_once() {
        let mut state = State::default();
        state.record_change(change(0, 2, 4), PERIOD);
        state.record_change(change(2, 2, 4), PERIOD);
        assert_eq!(state.changes.len(), 1);
    }

    #[test]
    fn the_number_of_changes_is_bounded() {
        let mut state = State::default();
        for at in 0..40 {
            state.record_change(change(at, at as u32, at as u32 + 1), Span::from_seconds(3600));
        }
        assert_eq!(state.changes.len(), CHANGES_MAX);
        let begin =
            state.replicas_at_period_begin(Replicas(40), Span::from_seconds(3600), Time(40_000));
        assert_eq!(begin, Replicas(0));
        assert!(serde_json::to_string(&state).unwrap().len() < 2048);
    }
}
