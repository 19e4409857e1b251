//! What a step does when kantctl gets a signal, from the terminal or from a process: passes it on
//! to the tasks, or asks once more where a person may have slipped. Never ends kantctl itself.

use super::Conduct;
use super::stop::Stop;
use crate::step::frame::{ALL, Frame, Kind};
use nix::sys::signal::Signal;

impl Conduct<'_> {
    pub(super) fn signalled(&mut self, signal: Signal) {
        if signal == Signal::SIGINT && self.step.is_watched {
            return self.interrupted();
        }
        self.tell(signal);
        if signal == Signal::SIGHUP {
            // The terminal is gone, and with it whoever wanted to know.
            self.stop.get_or_insert_with(Stop::now);
        }
    }

    /// As srun has it: once it tells, twice within a second it ends the tasks, and then at once.
    pub(super) fn interrupted(&mut self) {
        match self.interrupts.next() {
            1 => {
                let running = self.codes.iter().filter(|code| code.is_none()).count();
                self.outputs.note("interrupt (one more within 1 sec to abort)");
                self.outputs.note(&format!("{}: {running} tasks run", self.name()));
            }
            2 => {
                self.outputs.note(&format!("sending Ctrl-C to {}", self.name()));
                self.tell(Signal::SIGINT);
                self.stop = Some(Stop::soon());
            }
            _ => {
                self.outputs.note(&format!("forcing {} to end", self.name()));
                self.tell(Signal::SIGKILL);
            }
        }
    }

    pub(super) fn name(&self) -> String {
        format!("StepId={}.{}", self.step.place.key, self.step.place.step)
    }

    pub(super) fn tell(&self, signal: Signal) {
        let number = u8::try_from(signal as i32).unwrap_or_default();
        self.lines.send_all(&Frame::new(Kind::Signal, ALL, [number]));
    }
}
