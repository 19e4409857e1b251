//! Signals for jobs, passed on to the job's supervisor, which knows the processes. A signal is sent
//! at most once, and is lost if no supervisor receives it.

use super::handle::Steps;
use super::registry::StepRequest;
use common::wire::node::{JobSignal, Reached, SignalJob, SignalNews, StepPhase};

impl Steps {
    /// Sends a signal to a job's processes. Returns at once.
    pub fn signal_job(&self, asked: &SignalJob) -> SignalNews {
        let SignalJob { question, id, signal, to: target } = *asked;
        let failed = |why: &str| JobSignal::Failed(why.to_owned());
        let signal = match self.registry().phase(id) {
            None => failed("the job is not on the node"),
            Some(StepPhase::Ended(_)) => failed("it has ended there"),
            Some(StepPhase::Preparing | StepPhase::Ready) => failed("it has not started there"),
            Some(StepPhase::Running { suspended: true, .. }) => failed("it is suspended there"),
            Some(_) if target == Reached::Steps && !self.registry().has_programs(id) => {
                JobSignal::NoProcess
            }
            Some(StepPhase::Running { .. }) => {
                self.registry().send(id, StepRequest::SignalJob(signal, target));
                JobSignal::Sent
            }
        };
        SignalNews { question, signal }
    }
}
