//! A decision with everything that it depended on, so that it can be repeated from a file.

use crate::decide::{Decision, Moment, decide};
use crate::state::State;
use crate::window::Window;
use common::autoscale::{Policy, Replicas};
use serde::{Deserialize, Serialize};

/// A decision and its arguments. One JSON object in a line makes a file of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub policy: Policy,
    pub window: Window,
    pub current: Replicas,
    #[serde(default)]
    pub state: State,
    pub now: Moment,
    pub decision: Decision,
}

impl Record {
    /// Decides, and keeps the arguments.
    #[must_use]
    pub fn decide(
        policy: Policy,
        window: Window,
        current: Replicas,
        state: State,
        now: Moment,
    ) -> Self {
        let decision = decide(&policy, &window, current, &state, now);
        Self { policy, window, current, state, now, decision }
    }

    /// Decides again, from the same arguments.
    #[must_use]
    pub fn repeat(&self) -> Decision {
        decide(&self.policy, &self.window, self.current, &self.state, self.now)
    }
}
