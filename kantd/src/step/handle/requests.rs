//! Requests to single steps. Each returns at once, and its repetition has no effect.

use super::Steps;
use crate::step::liveness::LivenessFailure;
use crate::step::overuse::GpuOveruse;
use crate::step::registry::StepRequest;
use common::id::AttemptId;
use common::time::Span;

impl Steps {
    /// Runs a step as soon as it is ready.
    pub fn start_ready_step(&self, id: AttemptId) {
        self.registry.send(id, StepRequest::Go);
    }

    /// Suspends a step's processes and its time limit.
    pub fn suspend(&self, id: AttemptId) {
        self.registry.send(id, StepRequest::Suspend);
    }

    /// Resumes a suspended step.
    pub fn resume(&self, id: AttemptId) {
        self.registry.send(id, StepRequest::Resume);
    }

    /// Sets a step's time limit, counted from its first process.
    pub fn limit(&self, id: AttemptId, limit: Span) {
        self.registry.send(id, StepRequest::Limit(limit));
    }

    /// Ends a step: SIGTERM, then SIGKILL after the grace period.
    pub fn stop(&self, id: AttemptId) {
        self.registry.send(id, StepRequest::Stop);
    }

    /// Ends a step because it uses more of a GPU's memory than its share.
    pub fn end_for_overuse(&self, id: AttemptId, overuse: GpuOveruse) {
        self.registry.send(id, StepRequest::Overuse(overuse));
    }

    /// Ends a replica of a service, which is not live.
    pub fn end_not_live(&self, id: AttemptId, why: LivenessFailure) {
        self.registry.send(id, StepRequest::NotLive(why));
    }

    /// Forgets a step that has ended; other steps are kept.
    pub fn forget(&self, id: AttemptId) {
        self.registry.send(id, StepRequest::Forget);
    }
}
