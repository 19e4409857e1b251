//! Resize of a running job: the files that describe its nodes are rewritten, programs started later
//! get the new size, and the job gets a signal if it asked for one, once for each resize.

use super::{Supervisor, log, warn};
use crate::step::job_size;
use common::job::Warned;
use common::wire::node::StepPhase;

impl Supervisor {
    /// Applies the new size, which lies in the step's directory.
    pub(super) fn resize(&mut self, number: u32) {
        if number <= self.resized {
            return;
        }
        let resized = match job_size::read(&self.dir) {
            Ok(Some(resized)) if resized.number >= number => resized,
            Ok(_) => {
                return log(&format!(
                    "size {number} of the job is missing in the step's directory"
                ));
            }
            Err(error) => return log(&format!("failed to read the size of the job: {error}")),
        };
        self.resized = resized.number;
        self.spec.launch.allocation = resized.allocation;
        self.spec.launch.addresses = resized.addresses;
        if let Err(error) = self.write_hosts() {
            log(&format!("failed to rewrite the files with the job's nodes: {error}"));
        }
        self.resize_signal = resized.signal;
        log(&format!("the job has {} nodes now", self.spec.launch.allocation.shares().len()));
    }

    /// Sends the signal for a resize. Not while the job is suspended, because listing its processes
    /// would resume it; then the signal follows when it is resumed.
    pub(super) fn send_resize_signal(&mut self) {
        let runs = matches!(self.phase, StepPhase::Running { suspended: false, .. });
        let Some(resize) = self.resize_signal.filter(|_| runs) else { return };
        self.resize_signal = None;
        self.find_container_processes();
        let Some(signal) = warn::known_signal(resize.signal) else {
            return log(&format!("the system has no signal {}: not sent", resize.signal));
        };
        match resize.to {
            Warned::Script => self.warn_scripts(signal),
            Warned::All => self.warn_all(signal),
        }
    }
}
