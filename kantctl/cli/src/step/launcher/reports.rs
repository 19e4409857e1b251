//! Messages of a launcher to its client: output and ends of tasks, and how much of the input is
//! processed. Sending waits at most for a full pipe.

use super::Launcher;
use super::client_input::{self, GIVE_BACK_BYTES};
use super::task::Task;
use crate::failure::Failure;
use crate::step::frame::{ALL, Frame, Kind};
use anyhow::Context;
use common::job::ExitStatus;
use nix::unistd::Pid;
use std::io::Write;

impl Launcher {
    pub(super) fn note_end(&mut self, pid: Pid, exit: ExitStatus) -> Result<(), Failure> {
        let found = self.tasks.iter_mut().zip(0..).find(|(task, _)| task.pid() == Some(pid));
        // It is an orphaned descendant of a task.
        let Some((task, number)) = found else { return Ok(()) };
        task.note_end();
        self.report_processed_input()?;
        self.send(&Frame::new(Kind::Ended, number, [exit.code, exit.signal.unwrap_or(0)]))
    }

    /// Reports how much of the input is processed: all but what the slowest task has not read. The
    /// client waits for that, as for a pipe.
    pub(super) fn report_processed_input(&mut self) -> Result<(), Failure> {
        let unread = self.tasks.iter().map(Task::unread).max().unwrap_or(0);
        let taken = self.read.saturating_sub(unread as u64);
        if taken <= self.taken {
            return Ok(());
        }
        self.taken = taken;
        self.send(&Frame::new(Kind::Read, ALL, taken.to_le_bytes()))
    }

    /// Records processed output, and releases it from the file.
    pub(super) fn note_processed_output(&mut self, bytes: u64) {
        self.output_path.flow_control.set_processed(bytes);
        let range =
            (i64::try_from(self.given_back), i64::try_from(bytes.saturating_sub(self.given_back)));
        if let (Ok(from), Ok(count @ GIVE_BACK_BYTES..)) = range {
            client_input::release_file_range(&self.out, from, count);
            self.given_back = bytes;
        }
    }

    pub(super) fn send(&mut self, frame: &Frame) -> Result<(), Failure> {
        let bytes = frame.bytes();
        self.output_path.flow_control.add_sent(bytes.len());
        let written = self.out.write_all(&bytes);
        Ok(written.context("failed to pass on what a task wrote")?)
    }
}
