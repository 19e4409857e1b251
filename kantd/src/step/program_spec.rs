//! The spec of a program that `kantctl launch` starts in a running step for a process of the job.
//! The program shares the step's cgroup and ends with the step, but does not affect how it ends.

use super::dir::{self, StepDir};
use super::spec::StepSpec;
use common::id::TaskNumber;
use common::wire::node::Manner;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramSpec {
    /// The program's path and its arguments.
    pub program: Vec<String>,
    /// Submitted variables, which the node completes.
    pub environment: BTreeMap<String, String>,
    /// The working directory, if the node has it; else /tmp.
    pub work_dir: String,
    #[serde(default)]
    pub manner: Manner,
}

impl ProgramSpec {
    /// Writes the spec for the supervisor; false if it is there already.
    pub fn write(&self, dir: &StepDir, task: TaskNumber) -> io::Result<bool> {
        let text = serde_json::to_vec(self)?;
        let mut file =
            match dir::private_file_options().create_new(true).open(dir.task_spec_path(task)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                file => file?,
            };
        file.write_all(&text)?;
        Ok(true)
    }

    /// Reads and removes the spec, so that the program is started once.
    pub fn take(dir: &StepDir, task: TaskNumber) -> io::Result<Self> {
        let path = dir.task_spec_path(task);
        let text = fs::read(&path)?;
        fs::remove_file(&path)?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// The command to run on this node.
    pub fn command(&self, step: &StepSpec) -> Vec<String> {
        let mut command = self.program.clone();
        let own = step.rules.kantctl.as_ref().filter(|_| self.manner.own_program);
        if let (Some(first), Some(own)) = (command.first_mut(), own) {
            *first = own.to_string_lossy().into_owned();
        }
        command
    }

    /// The step's spec as if it had been submitted with the program's.
    pub fn into_step_spec(self, step: &StepSpec) -> StepSpec {
        let mut spec = step.clone();
        spec.launch.script.clear();
        spec.launch.environment = self.environment;
        spec.launch.work_dir = self.work_dir;
        spec
    }
}
