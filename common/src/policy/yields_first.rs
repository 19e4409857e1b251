//! Who of those alike is stopped first for another queue's share, or for a higher priority, where
//! queues share fairly. Never who may be.

use serde::{Deserialize, Serialize};

/// Of the most over-served queue and the lowest priority in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum YieldsFirst {
    /// Who was submitted last, or told later than that that its work is saved. Source: KAI
    /// Scheduler, but for what is saved.
    #[default]
    SubmittedLast,
    /// Who loses least for each GPU: who started, or told that its work is saved, last.
    LosesLeast,
}

impl YieldsFirst {
    /// For files that say nothing where nothing was said.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
