//! Signals to the client of a step, from the terminal or from a process: they are forwarded to the
//! tasks, except for a single Ctrl-C.

use super::StepClient;
use super::stop::Stop;
use crate::step::frame::{ALL, Frame, Kind};
use nix::sys::signal::Signal;

impl StepClient<'_> {
    pub(super) fn on_signal(&mut self, signal: Signal) {
        if signal == Signal::SIGINT && self.step.is_watched {
            return self.on_interrupt();
        }
        self.send_signal(signal);
        if signal == Signal::SIGHUP {
            // The terminal is gone, and its user with it.
            self.stop.get_or_insert_with(Stop::now);
        }
    }

    /// As srun: the first Ctrl-C prints the state, a second within a second ends the tasks, a third
    /// kills them.
    pub(super) fn on_interrupt(&mut self) {
        match self.interrupts.count_next() {
            1 => {
                let running = self.codes.iter().filter(|code| code.is_none()).count();
                self.outputs.note("interrupt (one more within 1 sec to abort)");
                self.outputs.note(&format!("{}: {running} tasks running", self.name()));
            }
            2 => {
                self.outputs.note(&format!("sending Ctrl-C to {}", self.name()));
                self.send_signal(Signal::SIGINT);
                self.stop = Some(Stop::soon());
            }
            _ => {
                self.outputs.note(&format!("killing {}", self.name()));
                self.send_signal(Signal::SIGKILL);
            }
        }
    }

    pub(super) fn name(&self) -> String {
        format!("StepId={}.{}", self.step.placement.key, self.step.placement.step)
    }

    pub(super) fn send_signal(&self, signal: Signal) {
        let number = u8::try_from(signal as i32).unwrap_or_default();
        self.connections.send_all(&Frame::new(Kind::Signal, ALL, [number]));
    }
}
