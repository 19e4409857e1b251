//! Children: tasks, and what tasks leave behind, which comes to their starter. Never waits for one
//! that is not there.

use super::Heard;
use common::job::ExitStatus;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::sync::mpsc::SyncSender;

/// Tells of each child that ends, in a thread that ends with the last.
pub fn for_children(tell: SyncSender<Heard>) {
    std::thread::spawn(move || {
        loop {
            match waitpid(None::<Pid>, None) {
                Ok(status) => {
                    let (Some(pid), Some(exit)) = (status.pid(), exit_of(status)) else { continue };
                    if tell.send(Heard::Ended(pid, exit)).is_err() {
                        return;
                    }
                }
                Err(nix::Error::EINTR) => {}
                Err(_) => return,
            }
        }
    });
}

fn exit_of(status: WaitStatus) -> Option<ExitStatus> {
    match status {
        WaitStatus::Exited(_, code) => {
            Some(ExitStatus { code: u8::try_from(code & 255).unwrap_or(255), signal: None })
        }
        WaitStatus::Signaled(_, signal, _) => {
            Some(ExitStatus { code: 0, signal: u8::try_from(signal as i32).ok() })
        }
        _ => None,
    }
}

/// Kills what tasks have left behind. False: nothing is left.
pub fn kill_leftovers() -> bool {
    let children = children();
    for pid in &children {
        // It may be gone; what it leaves behind comes to us, too.
        let _ = kill(*pid, Signal::SIGKILL);
    }
    !children.is_empty()
}

/// Those of all our threads (man 5 proc, /proc/pid/task/tid/children).
fn children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let read = |list: String| -> Vec<Pid> {
        list.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
    };
    lists.flat_map(read).collect()
}
