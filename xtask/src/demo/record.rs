//! Which demo cluster is up: its directory and processes, in a file under target. Never ends a
//! process that is not a daemon of that cluster.

use anyhow::Context as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};

/// A cluster that was left up.
pub struct Record {
    /// Its directory.
    pub dir: String,
    /// Its daemons.
    pub pids: Vec<u32>,
}

fn file() -> PathBuf {
    e2e::workspace().join("target/kant-demo.json")
}

impl Record {
    /// The cluster that is up, if any still is.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn load() -> anyhow::Result<Option<Self>> {
        let text = match std::fs::read_to_string(file()) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context("failed to read the demo's record"),
        };
        let value: serde_json::Value = serde_json::from_str(&text)?;
        let pids = value["pids"].as_array().cloned().unwrap_or_default();
        let record = Self {
            dir: value["dir"].as_str().unwrap_or_default().to_owned(),
            pids: pids.iter().filter_map(|p| p.as_u64()?.try_into().ok()).collect(),
        };
        Ok(record.pids.iter().any(|pid| record.is_ours(*pid)).then_some(record))
    }

    /// Notes a cluster that stays up.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self) -> anyhow::Result<()> {
        let value = serde_json::json!({ "dir": self.dir, "pids": self.pids });
        std::fs::write(file(), value.to_string()).context("failed to write the demo's record")
    }

    /// A number may have gone to another process since: ours was started with a file of ours.
    fn is_ours(&self, pid: u32) -> bool {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        !self.dir.is_empty() && line.contains(&self.dir)
    }

    /// Cancels what runs, ends the daemons, removes the directory.
    ///
    /// # Errors
    /// The system's.
    pub fn end(&self) -> anyhow::Result<()> {
        self.cancel_all();
        for pid in self.pids.iter().filter(|pid| self.is_ours(**pid)) {
            kill(Pid::from_raw(i32::try_from(*pid)?), Signal::SIGTERM)?;
        }
        e2e::wait_for("the daemons to end", || {
            Ok((!self.pids.iter().any(|pid| self.is_ours(*pid))).then_some(()))
        })?;
        if Path::new(&self.dir).exists() {
            std::fs::remove_dir_all(&self.dir)?;
        }
        Ok(std::fs::remove_file(file())?)
    }

    /// Best effort: a controller that is gone has no jobs to cancel.
    fn cancel_all(&self) {
        let dir = Path::new(&self.dir);
        let kantctl = e2e::Kantctl::at(&dir.join("kantctl"), &dir.join("kantctld.sock"), dir);
        if let Err(error) = kantctl.cancel_everything() {
            eprintln!("jobs may be left running: {error:#}");
        }
    }
}
