//! The order for a program that is started in a step that runs: one more process in the job's own
//! place, `kantctl launch`'s on behalf of a process of the job. Never part of the step's order: it
//! decides nothing about how the step ends, and ends with it.

use super::dir::{self, StepDir};
use super::order::StepOrder;
use common::id::TaskNumber;
use common::wire::node::Manner;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

/// What to run, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestOrder {
    /// By its full path, and its arguments.
    pub program: Vec<String>,
    /// What it finds in its environment, less what the node knows better.
    pub environment: BTreeMap<String, String>,
    /// Where it starts, if the node has that directory; else in /tmp.
    pub work_dir: String,
    /// How it is held.
    #[serde(default)]
    pub manner: Manner,
}

impl GuestOrder {
    /// Leaves it for the supervisor; false: it was left before.
    pub fn leave(&self, dir: &StepDir, task: TaskNumber) -> io::Result<bool> {
        let text = serde_json::to_vec(self)?;
        let mut file = match dir::private().create_new(true).open(dir.task(task)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            file => file?,
        };
        file.write_all(&text)?;
        Ok(true)
    }

    /// Takes it, so that it is started once.
    pub fn take(dir: &StepDir, task: TaskNumber) -> io::Result<Self> {
        let path = dir.task(task);
        let text = fs::read(&path)?;
        fs::remove_file(&path)?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// What to run on this node.
    pub fn words(&self, step: &StepOrder) -> Vec<String> {
        let mut words = self.program.clone();
        let own = step.rules.kantctl.as_ref().filter(|_| self.manner.own_program);
        if let (Some(first), Some(own)) = (words.first_mut(), own) {
            *first = own.to_string_lossy().into_owned();
        }
        words
    }

    /// The step's order as if it had been submitted so.
    pub fn into_order(self, step: &StepOrder) -> StepOrder {
        let mut order = step.clone();
        order.launch.script.clear();
        order.launch.environment = self.environment;
        order.launch.work_dir = self.work_dir;
        order
    }
}
