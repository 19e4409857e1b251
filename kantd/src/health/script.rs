//! The site's own health check: a program that exits with 0 if the node is healthy, and otherwise
//! prints the problem in its first line. It is killed at its time limit.

use crate::trust::check_program;
use common::health::Check;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use node::Symptom;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Interval of checks whether the script has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Bytes of the script's output that are read.
const SAID_MAX: u64 = 4096;

/// Characters of its first line that are reported.
const LINE_MAX: usize = 200;

#[derive(Debug, Clone)]
pub struct ScriptProbe {
    script: PathBuf,
    limit: Duration,
    /// The file of its output: it would block on a full pipe.
    said: PathBuf,
}

impl ScriptProbe {
    /// A script with this time limit, whose output lies in the spool meanwhile.
    #[must_use]
    pub fn new(script: PathBuf, limit: Duration, spool: &Path) -> Self {
        Self { script, limit, said: spool.join("health-script.out") }
    }

    #[must_use]
    pub fn symptoms(&self) -> Vec<Symptom> {
        let name = self.script.display();
        let text = match self.run() {
            Ok(Some(status)) if status.success() => return Vec::new(),
            Ok(Some(status)) => match self.first_line() {
                line if line.is_empty() => format!("{name}: {status}, without output"),
                line => format!("{name}: {line}"),
            },
            Ok(None) => format!("{name}: did not end within {:?} and was killed", self.limit),
            Err(error) => format!("{name}: failed to run: {error}"),
        };
        vec![Symptom::new(Check::Script, text)]
    }

    /// Runs the script; `None` if it exceeded its limit.
    fn run(&self) -> io::Result<Option<ExitStatus>> {
        // It runs as root: refuse it if others may write it by now.
        check_program("health_script", &self.script).map_err(io::Error::other)?;
        let said = File::create(&self.said)?;
        let mut child = Command::new(&self.script)
            .process_group(0)
            .current_dir("/")
            .stdin(Stdio::null())
            .stderr(said.try_clone()?)
            .stdout(said)
            .spawn()?;
        let deadline = Instant::now() + self.limit;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                // The whole process group: the script may wait for its children.
                let group = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
                let _ = killpg(group, Signal::SIGKILL);
                child.wait()?;
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn first_line(&self) -> String {
        let mut text = Vec::new();
        let file = File::open(&self.said).map(|file| file.take(SAID_MAX));
        let read = file.and_then(|mut file| file.read_to_end(&mut text));
        let _ = fs::remove_file(&self.said);
        let text = String::from_utf8_lossy(&text);
        let line = read.ok().and_then(|_| text.lines().find(|line| !line.trim().is_empty()));
        line.unwrap_or_default().trim().chars().take(LINE_MAX).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_check(lines: &str, limit: Duration) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("check");
        // Written by another process: a file that this one has open for writing cannot be executed
        // while a child of another test has the same descriptor (ETXTBSY).
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod 755 "$0""#;
        let written = Command::new("sh").args(["-c", write]).arg(&script).arg(lines).status();
        assert!(written.unwrap().success());
        let symptoms = ScriptProbe::new(script, limit, dir.path()).symptoms();
        symptoms
            .into_iter()
            .map(|symptom| symptom.text.rsplit('/').next().unwrap().to_owned())
            .collect()
    }

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn a_script_reports_the_problem_in_its_first_line() {
        assert_eq!(run_check("echo all is well", PATIENCE), [""; 0]);
        assert_eq!(run_check("echo; echo the fan; echo x; exit 1", PATIENCE), ["check: the fan"]);
        let silent = run_check("exit 3", PATIENCE);
        assert!(silent[0].contains("without output"), "{silent:?}");
    }

    #[test]
    fn a_script_that_exceeds_its_limit_is_killed_with_its_children() {
        let begun = Instant::now();
        let text = run_check("sleep 600 & wait", Duration::from_millis(100));
        assert!(text[0].contains("did not end within 100ms"), "{text:?}");
        assert!(begun.elapsed() < PATIENCE);
    }

    #[test]
    fn a_missing_script_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let probe = ScriptProbe::new("/no/such/check".into(), PATIENCE, dir.path());
        let symptoms = probe.symptoms();
        assert!(symptoms[0].text.contains("/no/such/check: failed to run"), "{symptoms:?}");
    }
}
