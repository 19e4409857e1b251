//! One daemon process with its log in a file. It is ended by pid when the value is dropped, unless
//! it is kept.

use anyhow::Context as _;
use common::sync::Mutex;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// The daemons that are ended together with this process.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn running(note: impl FnOnce(&mut BTreeSet<u32>)) {
    note(&mut RUNNING.lock());
}

/// Makes SIGTERM and SIGINT end all daemons before this process, for long runs that users stop.
/// Must be called before any thread is started. Temporary directories stay.
///
/// # Errors
/// When a system call fails.
pub fn end_daemons_on_signal() -> anyhow::Result<()> {
    let caught = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
    caught.thread_block()?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let signal = caught.wait();
        running(|daemons| {
            for pid in daemons.iter().filter_map(|pid| i32::try_from(*pid).ok()) {
                // The daemon may have ended already.
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            // The list stays locked, so that no other daemon is started meanwhile.
            std::process::exit(128 + signal.map_or(0, |signal| signal as i32));
        });
    })?;
    Ok(())
}

/// Starts a process with all signals unblocked: it would inherit blocked signals and could not be
/// stopped. Meanwhile a SIGTERM ends this process immediately.
fn with_signals_unblocked<T>(start: impl FnOnce() -> T) -> anyhow::Result<T> {
    let blocked = SigSet::thread_get_mask()?;
    SigSet::empty().thread_set_mask()?;
    let started = start();
    blocked.thread_set_mask()?;
    Ok(started)
}

/// A running daemon.
pub struct Daemon {
    child: Child,
    log: PathBuf,
    kept: bool,
}

impl Daemon {
    /// Starts a command whose output is appended to `log`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(mut command: Command, log: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let mut started = None;
        running(|daemons| {
            let child = with_signals_unblocked(|| command.spawn());
            daemons.extend(child.iter().flatten().map(Child::id));
            started = Some(child);
        });
        let child = started.context("no daemon was started")??;
        let child = child.with_context(|| format!("failed to start {command:?}"))?;
        Ok(Self { child, log: log.to_owned(), kept: false })
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The log so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The exit status, if it has ended by itself.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill(Pid::from_raw(i32::try_from(self.child.id())?), signal)?)
    }

    /// Kills it with SIGKILL and waits for its end.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Stops it with SIGTERM and waits for its end.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn stop(mut self) -> anyhow::Result<ExitStatus> {
        self.signal(Signal::SIGTERM)?;
        Ok(self.child.wait()?)
    }

    /// Keeps it running when this value is dropped.
    pub fn keep(&mut self) {
        let pid = self.pid();
        running(|daemons| {
            daemons.remove(&pid);
        });
        self.kept = true;
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let pid = self.pid();
        running(|daemons| {
            if daemons.remove(&pid) && !self.kept {
                // The daemon may have ended already.
                let _ = self.child.kill();
            }
        });
        if !self.kept {
            let _ = self.child.wait();
        }
    }
}
