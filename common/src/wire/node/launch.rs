//! The order to launch a step.

use super::SetFacts;
use crate::id::{ArrayIndex, AttemptId, JobId, QueueName};
use crate::job::{Launch, OpenMode, Owner, Replica, Rlimit, Warning};
use crate::policy::Sandbox;
use crate::resource::Allocation;
use crate::serde_skip::is_default;
use crate::time::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Data about an array for the environment of its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayFacts {
    /// The number of its tasks.
    pub count: u32,
    pub min: ArrayIndex,
    pub max: ArrayIndex,
    pub step: u32,
    /// The job id of this task (SLURM_JOB_ID), if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<JobId>,
}

/// All data that a node needs to run its step of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchOrder {
    pub id: AttemptId,
    pub cluster: String,
    pub job_name: String,
    pub owner: Owner,
    pub queue: QueueName,
    pub account: Option<String>,
    pub script: String,
    pub args: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub work_dir: String,
    /// `None`: /dev/null.
    pub stdin: Option<String>,
    pub stdout: String,
    /// `None`: the same file as stdout.
    pub stderr: Option<String>,
    /// Attempts after the first always append.
    pub open_mode: OpenMode,
    pub umask: u32,
    pub rlimits: Vec<Rlimit>,
    pub launch: Launch,
    /// The absolute path of an OCI bundle or a root file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub sandbox: Sandbox,
    /// Counted by the node from its first process.
    pub time_limit: Option<Span>,
    /// The time from its first process to its deadline, suspensions included; the time limit is
    /// never longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_deadline: Option<Span>,
    /// Sent before the time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<Warning>,
    /// The time between SIGTERM and SIGKILL.
    pub kill_grace: Span,
    /// It may be started again elsewhere when its node is lost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requeue: bool,
    /// The whole allocation; the node's position in it is its rank.
    pub allocation: Allocation,
    /// In the allocation's order.
    pub addresses: Vec<String>,
    /// The number of size changes up to this allocation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resized: u32,
    pub cpus_per_task: u32,
    pub submitted_at: Time,
    pub submit_host: String,
    /// Only for a task of an array.
    pub array: Option<ArrayFacts>,
    /// Only for a component of a het job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Box<SetFacts>>,
    /// Only for a replica of a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<Box<Replica>>,
}
