//! Earlier attempts of an element, before the current one.

use super::{Element, Run};
use common::id::Attempt;
use common::time::Time;
use serde::{Deserialize, Serialize};

/// The maximum number of earlier attempts that are kept.
pub const EARLIER_MAX: usize = 8;

/// Earlier attempts, the oldest first. Boxed, since most elements have none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Past(pub Vec<Earlier>);

/// An earlier attempt, after which the element was requeued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
    pub attempt: Attempt,
    /// The attempt, whose end is set.
    pub run: Run,
    /// When it was recorded that every node had released it.
    pub over_at: Time,
}

impl Element {
    /// When it ended, as its nodes measured it: earlier than its end was recorded if their reports
    /// were late. `None` unless it is Done.
    #[must_use]
    pub fn ended_at(&self) -> Option<Time> {
        let measured = self.run.as_ref().and_then(|run| run.over_at);
        self.done_at.map(|recorded| measured.unwrap_or(recorded))
    }

    /// Moves the current attempt, which ended at `over_at`, to the earlier ones.
    pub(crate) fn archive_attempt(&mut self, over_at: Time) {
        let Some(mut run) = self.run.take() else { return };
        run.shares = Vec::new();
        let Past(past) = self.earlier.get_or_insert_default().as_mut();
        if past.len() >= EARLIER_MAX {
            past.remove(0);
        }
        past.push(Earlier { attempt: self.attempt, run: *run, over_at });
    }

    /// The earlier attempts that are kept, the oldest first.
    pub fn past(&self) -> impl Iterator<Item = &Earlier> {
        self.earlier.iter().flat_map(|past| &past.0)
    }
}
