//! One line in a job's own output that says why it ends before its time: by its limit, or by a word
//! from outside. People look for it there, in the words of Slurm's.
//! Never holds the supervisor up: a child writes, as file servers may hang.

use super::{Supervisor, Verdict, log};
use crate::clock;
use crate::step::files::FilePlan;
use common::job::EndCause;
use nix::libc;
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::{ForkResult, fork};
use std::os::fd::{AsRawFd, OwnedFd};

/// The error files of the job's tasks, each once.
#[derive(Debug, Default)]
pub struct Farewell(Vec<OwnedFd>);

impl Farewell {
    /// Those that are files; whoever reads a pipe hears of the end by its end.
    pub fn of(plan: &FilePlan, files: &[OwnedFd]) -> Self {
        let mut places: Vec<usize> = plan.tasks.iter().map(|task| task.streams[2]).collect();
        places.sort_unstable();
        places.dedup();
        let is_file = |file: &&OwnedFd| {
            let found = fstat(file);
            found.is_ok_and(|s| s.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits())
        };
        let files = places.into_iter().filter_map(|place| files.get(place)).filter(is_file);
        // Without it the job ends all the same, and `kantctl show job` says why.
        Self(files.filter_map(|file| file.try_clone().ok()).collect())
    }
}

/// Nothing else stays open in the child: one that hangs holds no lock.
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
    /// Says that the job ends, and why.
    pub(super) fn say_farewell(&mut self, end: &Verdict) {
        let why = match end.cause {
            EndCause::TimedOut => " DUE TO TIME LIMIT",
            EndCause::Stopped => "",
            _ => return,
        };
        let files = std::mem::take(&mut self.farewell).0;
        if files.is_empty() {
            return;
        }
        let (id, node, now) = (self.order.launch.id, &self.order.node, clock::now());
        let key = id.key;
        let line = format!("kantd: error: *** JOB {key} ON {node} CANCELLED AT {now}{why} ***\n");
        // SAFETY: the supervisor has one thread; the child writes what lies ready, and is gone.
        match unsafe { fork() } {
            Ok(ForkResult::Child) => {
                keep_only(&files);
                for file in &files {
                    // SAFETY: writes from live memory of the length passed to an open descriptor.
                    unsafe { libc::write(file.as_raw_fd(), line.as_ptr().cast(), line.len()) };
                }
                // SAFETY: runs no handlers of the parent's.
                unsafe { libc::_exit(0) }
            }
            Ok(ForkResult::Parent { .. }) => {}
            Err(error) => log(&format!("failed to tell the job why it ends: {error}")),
        }
    }
}
