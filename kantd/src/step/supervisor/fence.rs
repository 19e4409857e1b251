//! The fence of a step: without a leader for too long, a job that may be started elsewhere ends
//! here first.

use super::{EndReason, Supervisor};
use crate::clock;
use crate::step::fence;
use common::job::EndCause;
use common::time::Span;
use std::time::{Duration, Instant};

/// The longest time between two looks at the record: its terms may change.
const LOOK_PAUSE: Duration = Duration::from_secs(10);

/// The state of a step's fence.
#[derive(Debug)]
pub(super) struct Fence {
    /// The uptime at which the step began. Its order came from a leader.
    begun: Span,
    look_at: Instant,
    /// How long there was no leader, once that is too long, and the job's time to end.
    closed: Option<(Span, Span)>,
}

impl Fence {
    /// The fence of a step that begins now.
    pub(super) fn new() -> Self {
        Self { begun: clock::uptime(), look_at: Instant::now(), closed: None }
    }
}

impl Supervisor {
    /// When to look at the record next; `None`: never again.
    pub(super) fn fence_due_at(&self) -> Option<Instant> {
        let applies = self.spec.launch.requeue && self.spec.rules.leader_contact.is_some();
        (applies && self.fence.closed.is_none()).then_some(self.fence.look_at)
    }

    /// Looks at the record when that is due.
    pub(super) fn look_at_fence(&mut self) {
        let path = self.spec.rules.leader_contact.as_deref();
        let is_due = self.fence_due_at().is_some_and(|at| Instant::now() >= at);
        let Some(path) = path.filter(|_| is_due) else { return };
        let contact = fence::read(path).filter(|contact| !contact.terms.after.is_zero());
        let mut pause = LOOK_PAUSE;
        if let Some(contact) = contact {
            let silent = clock::uptime().0.saturating_sub(contact.at.max(self.fence.begun).0);
            let left = contact.terms.after.0.saturating_sub(silent);
            if left == 0 {
                self.fence.closed = Some((Span(silent), contact.terms.kill_within));
            }
            pause = pause.min(Duration::from_millis(left));
        }
        self.fence.look_at = Instant::now() + pause;
    }

    /// Why the step ends, if it is fenced.
    pub(super) fn fence_end_reason(&self) -> Option<EndReason> {
        let (silent, _) = self.fence.closed?;
        let message = format!(
            "node {} had no contact with a leading controller for {silent} and ended the job, \
             which may be started elsewhere (fence_after_seconds; --no-requeue jobs run on)",
            self.spec.node
        );
        Some(EndReason::new(EndCause::Lost, message))
    }

    /// The time between SIGTERM and SIGKILL.
    pub(super) fn kill_grace(&self) -> Duration {
        let own = self.spec.launch.kill_grace;
        let grace = self.fence.closed.map_or(own, |(_, within)| within.min(own));
        Duration::from_millis(grace.0)
    }
}
