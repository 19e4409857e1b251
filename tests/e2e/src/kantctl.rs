//! kantctl, run as a user would run it.

use crate::person::Person;
use anyhow::{Context as _, bail, ensure};
use common::job::{Outcome, Phase};
use common::wire::api::{JobList, JobView, NodeList, ServiceList};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A script that runs until the file `enough` exists.
pub const UNTIL_ENOUGH: &str = "#!/bin/sh\nwhile [ ! -e enough ]; do sleep 0.1; done\n";

/// kantctl for one user and one socket.
#[derive(Debug, Clone)]
pub struct Kantctl {
    pub(crate) program: PathBuf,
    pub(crate) socket: PathBuf,
    pub(crate) person: Person,
    pub(crate) dir: PathBuf,
}

/// The result of a run of kantctl.
#[derive(Debug, Clone)]
pub struct Answer {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Kantctl {
    /// A given kantctl on a given socket, run as the current user in `dir`.
    #[must_use]
    pub fn at(program: &Path, socket: &Path, dir: &Path) -> Self {
        let own = Path::to_owned;
        Self { program: own(program), socket: own(socket), person: Person::me(), dir: own(dir) }
    }

    /// Stops every service, cancels every job, and waits until all have ended; for operators.
    ///
    /// # Errors
    /// When the controller does not answer, or a job does not end.
    pub fn cancel_everything(&self) -> anyhow::Result<()> {
        let services: ServiceList = self.json(&["service", "list"])?;
        for service in &services.services {
            // It may have been removed in the meantime.
            let _ = self.run(&["service", "stop", service.name.as_str()])?;
        }
        let list: JobList = self.json(&["queue"])?;
        for job in &list.jobs {
            // The job may have ended in the meantime.
            let _ = self.run(&["cancel", &job.key.to_string()])?;
        }
        crate::wait_for("the end of all jobs", || {
            let list: JobList = self.json(&["queue"])?;
            Ok(list.jobs.is_empty().then_some(()))
        })
    }

    /// Its working directory, which the user owns.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The same kantctl on another socket.
    #[must_use]
    pub fn on(&self, socket: &Path) -> Self {
        Self { socket: socket.to_owned(), ..self.clone() }
    }

    /// A command without arguments.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("KANT_SOCKET", &self.socket).current_dir(&self.dir).stdin(Stdio::null());
        self.person.dress(&mut command);
        command
    }

    /// Runs it; any exit code is a result.
    ///
    /// # Errors
    /// When it cannot be run, or is killed.
    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<Answer> {
        let mut command = self.command();
        let Output { status, stdout, stderr } =
            command.args(arguments).output().context("failed to run kantctl")?;
        Ok(Answer {
            code: status.code().with_context(|| format!("kantctl {arguments:?}: {status}"))?,
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        })
    }

    /// Runs it and returns its standard output.
    ///
    /// # Errors
    /// When it fails, with its standard error.
    pub fn ok(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let answer = self.run(arguments)?;
        if answer.code != 0 {
            bail!("kantctl {arguments:?} ended with {}: {}", answer.code, answer.stderr);
        }
        Ok(answer.stdout)
    }

    /// Runs it with --json and parses its answer.
    ///
    /// # Errors
    /// When it fails, or its answer is invalid.
    pub fn json<T: DeserializeOwned>(&self, arguments: &[&str]) -> anyhow::Result<T> {
        let text = self.ok(&[&["--json"], arguments].concat())?;
        serde_json::from_str(&text).with_context(|| format!("kantctl {arguments:?}: {text}"))
    }

    /// Submits a script with options and returns the job id.
    ///
    /// # Errors
    /// When it is refused.
    pub fn submit(&self, flags: &[&str], script: &str) -> anyhow::Result<String> {
        let path = self.dir.join("script.sh");
        std::fs::write(&path, script)?;
        let path = path.to_str().context("the test directory's name")?.to_owned();
        let arguments: Vec<&str> =
            ["submit", "--parsable"].iter().chain(flags).copied().chain([path.as_str()]).collect();
        let id = self.ok(&arguments)?.trim().to_owned();
        ensure!(!id.is_empty(), "no job id");
        Ok(id)
    }

    /// The job, as in `kantctl show job`.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn job(&self, id: &str) -> anyhow::Result<JobView> {
        let list: JobList = self.json(&["show", "job", id])?;
        list.jobs.into_iter().next().context("an empty answer")
    }

    /// Waits until a job has ended and returns it.
    ///
    /// # Errors
    /// When it takes too long.
    pub fn finished(&self, id: &str) -> anyhow::Result<JobView> {
        crate::wait_for(&format!("the end of job {id}"), || {
            let job = self.job(id)?;
            Ok(job.outcome.is_some().then_some(job))
        })
    }

    /// Waits until a job has ended, which must have completed.
    ///
    /// # Errors
    /// When it takes too long, or has another outcome.
    pub fn completed(&self, id: &str) -> anyhow::Result<JobView> {
        let job = self.finished(id)?;
        ensure!(job.outcome == Some(Outcome::Completed), "job {id}: {job:?}");
        Ok(job)
    }

    /// Waits until a job is in a phase and returns it.
    ///
    /// # Errors
    /// When it takes too long.
    pub fn until(&self, id: &str, phase: Phase) -> anyhow::Result<JobView> {
        crate::wait_for(&format!("job {id} to be {phase}"), || {
            Ok(Some(self.job(id)?).filter(|job| job.phase == phase))
        })
    }

    /// Runs it; it must be refused, with this in its message.
    ///
    /// # Errors
    /// When it is not.
    pub fn refused(&self, arguments: &[&str], message: &str) -> anyhow::Result<()> {
        let answer = self.run(arguments)?;
        ensure!(answer.code == 1 && answer.stderr.contains(message), "{arguments:?}: {answer:?}");
        Ok(())
    }

    /// The content of a file in its directory.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, file: &str) -> anyhow::Result<String> {
        let path = self.dir.join(file);
        std::fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))
    }

    /// The content of a file in its directory without its last newline, once there is any.
    #[must_use]
    pub fn said(&self, file: &str) -> Option<String> {
        let text = self.read(file).ok()?.trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    }

    /// Waits for a complete line in a file in its directory.
    ///
    /// # Errors
    /// When it takes too long.
    pub fn line(&self, file: &str) -> anyhow::Result<String> {
        let text = crate::wait_for(&format!("a line in {file}"), || {
            let text = self.read(file).unwrap_or_default();
            Ok(Some(text).filter(|text| text.ends_with('\n')))
        })?;
        Ok(text.trim().to_owned())
    }

    /// Slurm's commands under their own names, in a directory for a PATH.
    ///
    /// # Errors
    /// When they cannot be installed.
    pub fn slurm_names(&self) -> anyhow::Result<String> {
        let names = self.dir.join("names");
        let shown = names.display().to_string();
        if !names.exists() {
            self.ok(&["install-slurm-names", &shown])?;
        }
        Ok(shown)
    }

    /// Makes an empty file in its directory.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn touch(&self, file: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.dir.join(file), "")?)
    }

    /// The nodes.
    ///
    /// # Errors
    /// When it fails.
    pub fn nodes(&self) -> anyhow::Result<NodeList> {
        self.json(&["nodes"])
    }
}
