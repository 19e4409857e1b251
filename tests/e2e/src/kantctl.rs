//! kantctl, run as a user would run it.

use crate::person::Person;
use anyhow::{Context as _, bail, ensure};
use common::wire::api::{JobList, JobView, NodeList};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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

    /// Cancels every job and waits until all have ended; for operators.
    ///
    /// # Errors
    /// When the controller does not answer, or a job does not end.
    pub fn cancel_everything(&self) -> anyhow::Result<()> {
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

    /// The nodes.
    ///
    /// # Errors
    /// When it fails.
    pub fn nodes(&self) -> anyhow::Result<NodeList> {
        self.json(&["nodes"])
    }
}
