//! Child processes: tasks, and orphaned descendants of tasks, which are reparented to the launcher.

use super::Event;
use common::job::ExitStatus;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::sync::mpsc::SyncSender;

/// Reports each child that ends, in a thread that ends with the last one.
pub fn watch(events: SyncSender<Event>) {
    std::thread::spawn(move || {
        loop {
            match waitpid(None::<Pid>, None) {
                Ok(status) => {
                    let (Some(pid), Some(exit)) = (status.pid(), exit_of(status)) else { continue };
                    if events.send(Event::TaskEnded(pid, exit)).is_err() {
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

/// Kills processes that tasks have left behind. Returns false if there are none.
pub fn kill_leftovers() -> bool {
    let children = children();
    for pid in &children {
        // It may be gone already; its own children become ours.
        let _ = kill(*pid, Signal::SIGKILL);
    }
    !children.is_empty()
}

/// The children of all threads of this process (man 5 proc, /proc/pid/task/tid/children).
fn children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let read = |list: String| -> Vec<Pid> {
        list.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
    };
    lists.flat_map(read).collect()
}
