//! The job is given another size while it runs: what it reads of its nodes is written anew,
//! programs that are started in it from then on are told so, and it gets a signal if it asked for
//! one. Once for each time: the supervisor lives as long as the step. Never ends anything.

use super::{Supervisor, log, warn};
use crate::step::size;
use common::job::Warned;
use common::wire::node::StepPhase;

impl Supervisor {
    /// What the job has now lies in the step's directory.
    pub(super) fn resize(&mut self, number: u32) {
        if number <= self.resized {
            return;
        }
        let resized = match size::read(&self.dir) {
            Ok(Some(resized)) if resized.number >= number => resized,
            Ok(_) => {
                return log(&format!("the job has another size ({number}): nobody says which"));
            }
            Err(error) => return log(&format!("failed to read the size of the job: {error}")),
        };
        self.resized = resized.number;
        self.order.launch.allocation = resized.allocation;
        self.order.launch.addresses = resized.addresses;
        if let Err(error) = self.write_hosts() {
            log(&format!("failed to write the names of the job's nodes anew: {error}"));
        }
        self.resize_signal = resized.signal;
        log(&format!("the job has {} nodes now", self.order.launch.allocation.shares().len()));
    }

    /// Sends what is still to be sent for it. To list a group that stands still would wake it: one
    /// that does is told when it goes on.
    pub(super) fn tell_resized(&mut self) {
        let runs = matches!(self.phase, StepPhase::Running { suspended: false, .. });
        let Some(resize) = self.resize_signal.filter(|_| runs) else { return };
        self.resize_signal = None;
        self.look_inside();
        let Some(signal) = warn::known(resize.signal) else {
            return log(&format!("there is no signal {} here: not sent", resize.signal));
        };
        match resize.to {
            Warned::Script => self.warn_scripts(signal),
            Warned::All => self.warn_all(signal),
        }
    }
}
