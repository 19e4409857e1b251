//! Signals for jobs, for whoever asks the session: handed to the job's supervisor, which knows whom
//! to send them to. Never sent twice, and never kept: one that no supervisor hears is lost.

use super::board::Wish;
use super::handle::Steps;
use common::wire::node::{JobSignal, Reached, SignalJob, SignalNews, StepPhase};

impl Steps {
    /// Sends a job's processes a signal. Returns at once.
    pub fn signal_job(&self, asked: &SignalJob) -> SignalNews {
        let SignalJob { question, id, signal, to: whom } = *asked;
        let failed = |why: &str| JobSignal::Failed(why.to_owned());
        let signal = match self.board().phase(id) {
            None => failed("the node does not have it"),
            Some(StepPhase::Ended(_)) => failed("it is over there"),
            Some(StepPhase::Preparing | StepPhase::Ready) => failed("it has not begun there"),
            Some(StepPhase::Running { suspended: true, .. }) => failed("it stands still there"),
            Some(_) if whom == Reached::Steps && !self.board().has_programs(id) => {
                JobSignal::NoProcess
            }
            Some(StepPhase::Running { .. }) => {
                self.board().wish(id, Wish::SignalJob(signal, whom));
                JobSignal::Sent
            }
        };
        SignalNews { question, signal }
    }
}
