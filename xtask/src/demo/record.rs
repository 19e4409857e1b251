//! The record of the running demo cluster: its directory, in a file under target. Its processes are
//! found by that directory in their command lines, since the user may have restarted one, and no
//! other process is ended.

use anyhow::Context as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};

/// A running demo cluster.
pub struct Record {
    pub dir: String,
    /// The parent cgroups of its nodes' jobs.
    pub groups: Vec<String>,
}

fn record_path() -> PathBuf {
    e2e::workspace().join("target/kant-demo.json")
}

impl Record {
    /// The running cluster, if its directory still exists.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn load() -> anyhow::Result<Option<Self>> {
        let text = match std::fs::read_to_string(record_path()) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context("failed to read the demo's record"),
        };
        let value: serde_json::Value = serde_json::from_str(&text)?;
        let groups = value["groups"].as_array().cloned().unwrap_or_default();
        let record = Self {
            dir: value["dir"].as_str().unwrap_or_default().to_owned(),
            groups: groups.iter().filter_map(|g| g.as_str().map(str::to_owned)).collect(),
        };
        let there = !record.dir.is_empty() && Path::new(&record.dir).is_dir();
        Ok(there.then_some(record))
    }

    /// Records a running cluster.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self) -> anyhow::Result<()> {
        let value = serde_json::json!({ "dir": self.dir, "groups": self.groups });
        std::fs::write(record_path(), value.to_string())
            .context("failed to write the demo's record")
    }

    /// The processes started with a file of this cluster.
    fn processes(&self) -> Vec<Pid> {
        let within = format!("{}/", self.dir);
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            let daemon = words.iter().any(|word| matches!(*word, b"--config" | b"--dir"));
            if daemon && words.iter().any(|word| word.starts_with(within.as_bytes())) {
                found.push(Pid::from_raw(pid));
            }
        }
        found
    }

    /// Cancels all jobs, ends the daemons and removes the directory.
    ///
    /// # Errors
    /// When a process does not end, or the directory cannot be removed.
    pub fn end(&self) -> anyhow::Result<()> {
        self.cancel_all();
        self.signal_all(Signal::SIGTERM);
        // The supervisors of jobs that could not be cancelled ignore SIGTERM.
        if self.wait_for_end().is_err() {
            self.signal_all(Signal::SIGKILL);
            self.wait_for_end()?;
        }
        for group in &self.groups {
            e2e::remove_groups(group);
        }
        std::fs::remove_dir_all(&self.dir)?;
        Ok(std::fs::remove_file(record_path())?)
    }

    fn signal_all(&self, signal: Signal) {
        for pid in self.processes() {
            // The process may have ended in the meantime.
            let _ = kill(pid, signal);
        }
    }

    fn wait_for_end(&self) -> anyhow::Result<()> {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        e2e::wait_until(deadline, "the daemons to end", || {
            Ok(self.processes().is_empty().then_some(()))
        })
    }

    /// Best effort: without a running controller, jobs are killed instead.
    fn cancel_all(&self) {
        let dir = Path::new(&self.dir);
        let kantctl = e2e::Kantctl::at(&dir.join("kantctl"), &dir.join("kantctld.sock"), dir);
        if let Err(error) = kantctl.cancel_everything() {
            eprintln!("failed to cancel the jobs, killing them: {error:#}");
        }
    }
}
