//! One daemon process: its log in a file, ended by pid. Never outlives this value, unless it is let
//! go on purpose.

use anyhow::Context as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

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
        let child = command.spawn().with_context(|| format!("failed to start {command:?}"))?;
        Ok(Self { child, log: log.to_owned(), kept: false })
    }

    /// Its process id.
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
        self.kept = true;
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if !self.kept {
            // It may have ended already.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
