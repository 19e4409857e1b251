//! One daemon process: its log in a file, ended by pid. Never outlives this value, unless it is let
//! go on purpose.

use anyhow::Context as _;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};

/// Those that end with this process, whatever ends it.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn running(note: impl FnOnce(&mut BTreeSet<u32>)) {
    note(&mut RUNNING.lock().unwrap_or_else(PoisonError::into_inner));
}

/// From now on SIGTERM and SIGINT end all daemons before they end this process: for long runs that
/// people stop. To be called before any thread is made. What is in temporary directories stays.
///
/// # Errors
/// The system's.
pub fn end_daemons_when_told() -> anyhow::Result<()> {
    let told = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
    told.thread_block()?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let signal = told.wait();
        running(|daemons| {
            for pid in daemons.iter().filter_map(|pid| i32::try_from(*pid).ok()) {
                // It may have ended already.
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            // With the list locked: nobody starts another one meanwhile.
            std::process::exit(128 + signal.map_or(0, |signal| signal as i32));
        });
    })?;
    Ok(())
}

/// Starts a process with no signal blocked, whatever is blocked here: it would inherit that, and
/// never be stopped. For this moment a SIGTERM ends this process as if nobody listened for it.
fn deaf_to_nothing<T>(start: impl FnOnce() -> T) -> anyhow::Result<T> {
    let blocked = SigSet::thread_get_mask()?;
    SigSet::empty().thread_set_mask()?;
    let started = start();
    blocked.thread_set_mask()?;
    Ok(started)
}

/// A daemon that runs.
pub struct Daemon {
    child: Child,
    log: PathBuf,
    kept: bool,
}

impl Daemon {
    /// Starts a command; its output is added to `log`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(mut command: Command, log: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let mut started = None;
        running(|daemons| {
            let child = deaf_to_nothing(|| command.spawn());
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

    /// What it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Has it ended by itself?
    ///
    /// # Errors
    /// The system's.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// The system's.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill(Pid::from_raw(i32::try_from(self.child.id())?), signal)?)
    }

    /// kill -9, and waits for the end.
    ///
    /// # Errors
    /// The system's.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// SIGTERM, and waits for the end.
    ///
    /// # Errors
    /// The system's.
    pub fn stop(mut self) -> anyhow::Result<ExitStatus> {
        self.signal(Signal::SIGTERM)?;
        Ok(self.child.wait()?)
    }

    /// Lets it run on when this value goes.
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
                // It may have ended already.
                let _ = self.child.kill();
            }
        });
        if !self.kept {
            let _ = self.child.wait();
        }
    }
}
