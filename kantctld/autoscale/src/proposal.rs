//! What a rule is given and what it answers, before the limits that hold for all rules.

use crate::window::Window;
use common::autoscale::{Limit, Measure, Replicas};
use common::time::{Span, Time};

/// What a rule decides from, beside its settings and the state.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    pub window: &'a Window,
    pub current: Replicas,
    pub now: Time,
}

/// What a rule wants.
pub struct Proposal {
    pub measure: Measure,
    pub wanted: Replicas,
    pub limits: Vec<Limit>,
}

impl Situation<'_> {
    /// The replicas that are ready now; all of them, if no sample says so.
    pub fn ready_replicas(&self, span: Span) -> Replicas {
        self.window.latest(span, self.now).map_or(self.current, |sample| sample.ready)
    }

    /// Without metrics the number stays as it is.
    pub fn proposal_without_data(&self, window: Span) -> Proposal {
        let replicas = self.current;
        Proposal { measure: Measure::NoData { window, replicas }, wanted: replicas, limits: vec![] }
    }
}

impl Proposal {
    /// The same with a smaller or larger number, for this reason. Without a change there is no
    /// limit to name.
    pub fn limit(&mut self, wanted: Replicas, limit: impl FnOnce(Replicas) -> Limit) {
        if wanted != self.wanted {
            self.limits.push(limit(wanted));
            self.wanted = wanted;
        }
    }
}
