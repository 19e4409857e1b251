//! The line in a job's own output that says why it ends early: at its time limit or by request.
//! Users look for it there, in Slurm's wording. A child process writes it, because file servers may
//! hang.

use super::{EndReason, Supervisor, log};
use crate::clock;
use crate::step::files::FilePlan;
use common::job::EndCause;
use nix::libc;
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::{ForkResult, fork};
use std::os::fd::{AsRawFd, OwnedFd};

/// The error files of the job's tasks, each once.
#[derive(Debug, Default)]
pub struct ExitNotice(Vec<OwnedFd>);

impl ExitNotice {
    /// Takes the regular files; the reader of a pipe notices the end of the job anyway.
    pub fn new(plan: &FilePlan, files: &[OwnedFd]) -> Self {
        let mut places: Vec<usize> = plan.tasks.iter().map(|task| task.streams[2]).collect();
        places.sort_unstable();
        places.dedup();
        let is_file = |file: &&OwnedFd| {
            let found = fstat(file);
            found.is_ok_and(|s| s.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits())
        };
        let files = places.into_iter().filter_map(|place| files.get(place)).filter(is_file);
        // Without the file, the job ends all the same, and `kantctl show job` gives the reason.
        Self(files.filter_map(|file| file.try_clone().ok()).collect())
    }
}

/// Closes all other files in the child, above all the supervisor's lock, because it may hang.
fn keep_only(files: &[OwnedFd]) {
    let mut kept: Vec<u32> = files.iter().map(|file| file.as_raw_fd().unsigned_abs()).collect();
    kept.sort_unstable();
    let mut from = 0;
    for last in kept.into_iter().chain([u32::MAX]) {
        if from < last {
            let to = if last == u32::MAX { last } else { last - 1 };
            // SAFETY: only closes descriptors, in a child that ends without using them.
            unsafe { libc::close_range(from, to, 0) };
        }
        from = last.saturating_add(1);
    }
}

impl Supervisor {
    /// Writes that the job ends, and why.
    pub(super) fn write_exit_notice(&mut self, end: &EndReason) {
        let why = match end.cause {
            EndCause::TimedOut => " DUE TO TIME LIMIT",
            EndCause::Stopped => "",
            _ => return,
        };
        let files = std::mem::take(&mut self.exit_notice).0;
        if files.is_empty() {
            return;
        }
        let (id, node, now) = (self.spec.launch.id, &self.spec.node, clock::now());
        let key = id.key;
        let line = format!("kantd: error: *** JOB {key} ON {node} CANCELLED AT {now}{why} ***\n");
        // SAFETY: the supervisor has one thread; the child writes prepared memory and exits.
        match unsafe { fork() } {
            Ok(ForkResult::Child) => {
                keep_only(&files);
                for file in &files {
                    // SAFETY: writes from live memory of the length passed to an open descriptor.
                    unsafe { libc::write(file.as_raw_fd(), line.as_ptr().cast(), line.len()) };
                }
                // SAFETY: exits without running the parent's handlers.
                unsafe { libc::_exit(0) }
            }
            Ok(ForkResult::Parent { .. }) => {}
            Err(error) => {
                log(&format!("failed to write the reason of the job's end to its output: {error}"))
            }
        }
    }
}
