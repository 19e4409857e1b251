//! Processes in /proc: descendants, and marks in the environment; and a handle to a process that
//! stays valid when its pid is reused.

use common::id::Uid;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

/// A process, identified beyond the reuse of its pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub pid: Pid,
    pub parent: Pid,
    /// Start time in clock ticks since boot; unique with the pid until the next boot.
    pub start_ticks: u64,
}

/// A handle to a process (man 2 pidfd_open; Linux 5.3).
#[derive(Debug)]
pub struct ProcessHandle(OwnedFd);

/// Readable when the process has ended.
impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl ProcessHandle {
    /// A handle to the process that has this pid now; `None` if it is gone.
    pub fn open(pid: Pid) -> Option<Self> {
        // SAFETY: pidfd_open takes two integers and accesses no memory.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
        // SAFETY: the kernel just made this descriptor for us; nothing else owns it.
        Some(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Sends a signal, unless the process is gone or this process lacks the permission.
    pub fn signal(&self, signal: Signal) {
        let (fd, number) = (self.0.as_raw_fd(), signal as libc::c_int);
        let no_info = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the descriptor is open, and a null siginfo is allowed.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, number, no_info, 0) };
    }
}

/// Reads one process; `None` if it is gone or a zombie.
pub fn read(pid: Pid) -> Option<Process> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(pid, &text)
}

/// Parses a stat line. The command name in brackets may contain any characters.
fn parse_stat(pid: Pid, text: &str) -> Option<Process> {
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let state = *fields.first()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    let parent = Pid::from_raw(fields.get(1)?.parse().ok()?);
    // Field 22 of the whole line; the state is field 3.
    let start_ticks = fields.get(19)?.parse().ok()?;
    Some(Process { pid, parent, start_ticks })
}

/// Whether a process has its own handler for a signal; false if it is gone.
pub fn has_handler(pid: Pid, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    handled_signals(&status) & (1 << (signal as u32 - 1)) != 0
}

/// The signals with a handler, one bit each, in a status file (man 5 proc, SigCgt).
fn handled_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

pub fn list_all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).map(Pid::from_raw);
    pids.filter_map(read).collect()
}

/// The living children of these processes, each after its parent.
pub fn children_of(parents: &[Pid]) -> Vec<(Pid, Pid)> {
    let all = list_all().into_iter().filter(|process| parents.contains(&process.parent));
    all.map(|process| (process.parent, process.pid)).collect()
}

/// All descendants of a process, without itself.
pub fn descendants(of: Pid, processes: &[Process]) -> Vec<Process> {
    let mut family = BTreeSet::from([of]);
    let mut found = Vec::new();
    loop {
        let before = found.len();
        for process in processes {
            if family.contains(&process.parent) && family.insert(process.pid) {
                found.push(*process);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// These processes and all their descendants.
pub fn with_descendants(heads: impl Iterator<Item = Pid>) -> BTreeSet<Pid> {
    let all = list_all();
    let family = |of| descendants(of, &all).into_iter().map(|process| process.pid).chain([of]);
    heads.flat_map(family).collect()
}

/// Signals all descendants of a process, and returns their number.
pub fn kill_descendants(of: Pid, signal: Signal) -> usize {
    let found = descendants(of, &list_all());
    for process in &found {
        let Some(handle) = ProcessHandle::open(process.pid) else { continue };
        if read(process.pid).is_some_and(|now| now.start_ticks == process.start_ticks) {
            handle.signal(signal);
        }
    }
    found.len()
}

/// All processes of a user that were executed with this `NAME=value` in their environment.
pub fn find_marked(mark: &str, owner: Uid, processes: &[Process]) -> Vec<Process> {
    let carries = |process: &&Process| {
        let dir = format!("/proc/{}", process.pid);
        let is_owners = fs::metadata(&dir).is_ok_and(|m| m.uid() == owner.0);
        is_owners
            && fs::read(format!("{dir}/environ"))
                .is_ok_and(|all| all.split(|b| *b == 0).any(|entry| entry == mark.as_bytes()))
    };
    processes.iter().filter(carries).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid: Pid::from_raw(pid), parent: Pid::from_raw(parent), start_ticks: 0 }
    }

    #[test]
    fn a_stat_line_is_read_past_any_command_name() {
        let rest = "S 7 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9";
        let read = parse_stat(Pid::from_raw(9), &format!("9 (a) b) R (x) {rest}")).unwrap();
        assert_eq!((read.parent.as_raw(), read.start_ticks), (7, 4711));
        assert_eq!(parse_stat(Pid::from_raw(9), "9 (x) Z 7 1"), None);
        assert_eq!(parse_stat(Pid::from_raw(9), "rubbish"), None);
    }

    #[test]
    fn descendants_are_found_in_any_order() {
        let all = [process(30, 20), process(20, 10), process(10, 1), process(99, 1)];
        let pids: BTreeSet<i32> =
            descendants(Pid::from_raw(10), &all).iter().map(|p| p.pid.as_raw()).collect();
        assert_eq!(pids, BTreeSet::from([20, 30]));
    }

    #[test]
    fn handlers_are_read_from_the_mask() {
        let status = "Name:\tsh\nSigIgn:\t0000000000000004\nSigCgt:\t0000000000010200\n";
        assert_eq!(handled_signals(status), 0x10200);
        assert_eq!(handled_signals("Name:\tsh\n"), 0);
        // The test's threads install no handler for it.
        assert!(!has_handler(Pid::this(), Signal::SIGUSR2));
    }

    #[test]
    fn this_process_is_seen_alive() {
        assert!(list_all().contains(&read(Pid::this()).unwrap()));
    }
}
