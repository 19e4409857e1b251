//! The user's request for a job, and what the controller keeps of it.

use super::array::ArraySpec;
use super::dependency::Dependency;
use super::mail::Mail;
use super::replica::Replica;
use super::size::ResizeSignal;
use super::warning::Warning;
use crate::blob::BlobHash;
use crate::id::{AccountName, Gid, QosName, QueueName, ReservationName, Uid};
use crate::resource::Request;
use crate::serde_skip::is_default;
use crate::time::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The owner of a job, identified by the kernel of the submitting host and not by the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    pub uid: Uid,
    /// The user's primary group at submission.
    pub gid: Gid,
    /// The user's name if the controller knows it, else the uid as text.
    pub name: String,
}

/// The processes that run the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Launch {
    /// One, on the first node, as with sbatch.
    #[default]
    Once,
    /// One on each node (torchrun and similar launchers).
    PerNode,
    /// One for each task, with its rank in the environment.
    PerTask,
    /// None: the nodes are held for programs that start later, until the job is ended explicitly.
    Held,
}

/// The treatment of existing output files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OpenMode {
    /// Truncate the file (a requeued attempt appends nevertheless, as in Slurm).
    #[default]
    Truncate,
    Append,
}

/// A soft limit of the submitting shell, by its lower-case name (`nofile`, `memlock`, `core`, ...;
/// man 2 getrlimit without RLIMIT_).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rlimit {
    pub name: String,
    /// `None`: unlimited.
    pub soft: Option<u64>,
}

/// The user's request: flags and script directives, merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ask {
    /// `--job-name`; the default is the script's file name.
    pub name: String,
    /// `None` in a submission means the default queue. The controller fills it in.
    pub queue: Option<QueueName>,
    pub account: Option<AccountName>,
    /// The command line as typed, for display only: the script or program with its arguments;
    /// `None` without one, as with `--wrap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    pub args: Vec<String>,
    /// An absolute path.
    pub work_dir: String,
    /// `None`: /dev/null. Patterns as for `stdout`.
    pub stdin: Option<String>,
    /// Relative to `work_dir`, with `%j %A %a %x %u %N %n %t %%`; `None`: `kant-%j.out`, for arrays
    /// `kant-%A_%a.out`.
    pub stdout: Option<String>,
    /// `None`: the same file as `stdout`.
    pub stderr: Option<String>,
    pub open_mode: OpenMode,
    pub request: Request,
    pub launch: Launch,
    /// `None` in a submission: the queue's default.
    pub time_limit: Option<Span>,
    /// `--time=UNLIMITED`: no time limit, where the queue allows it, regardless of its default.
    #[serde(skip_serializing_if = "is_default")]
    pub unlimited: bool,
    /// `--container`: the root of the processes, an absolute path of an OCI bundle or a root file
    /// system on the nodes; `None`: the node's own root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// `--signal`: the warning before the time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<Warning>,
    /// `--resize-signal`: the signal for a change of size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resize_signal: Option<ResizeSignal>,
    /// `--begin`: the earliest start.
    pub begin_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependency: Option<Dependency>,
    /// `--kill-on-invalid-dep`: cancel the job once its dependency can no longer be satisfied.
    #[serde(skip_serializing_if = "is_default")]
    pub kill_on_invalid_dependency: bool,
    /// Lowers the priority if positive, raises it if negative (operators only).
    pub nice: i32,
    pub qos: Option<QosName>,
    /// `--deadline`: do not start the job if it would end later.
    pub deadline: Option<Time>,
    /// `--preemptible`: `None` takes the setting of the QoS or queue.
    pub preemptible: Option<bool>,
    pub reservation: Option<ReservationName>,
    /// `--service`: a service that answers requests; E-Spread spreads those over nodes.
    pub service: bool,
    /// `--hold`: wait until released.
    pub hold: bool,
    /// `--requeue`, the default: start a new attempt after a node was lost.
    pub requeue: bool,
    pub array: Option<ArraySpec>,
    pub umask: u32,
    /// Soft limits of the submitting shell.
    pub rlimits: Arc<[Rlimit]>,
    pub comment: Option<String>,
    /// `--mail-type`, `--mail-user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail: Option<Mail>,
    pub submit_host: String,
    /// The job ends when its client has not renewed the lease for this time; `None`: no client is
    /// required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Span>,
    /// The service of which the job is a replica. Only the controller sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica: Option<Box<Replica>>,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            name: "job".to_owned(),
            queue: None,
            account: None,
            command: None,
            args: Vec::new(),
            work_dir: "/".to_owned(),
            stdin: None,
            stdout: None,
            stderr: None,
            open_mode: OpenMode::Truncate,
            request: Request::default(),
            launch: Launch::Once,
            time_limit: None,
            unlimited: false,
            container: None,
            warning: None,
            resize_signal: None,
            begin_at: None,
            dependency: None,
            kill_on_invalid_dependency: false,
            nice: 0,
            qos: None,
            deadline: None,
            preemptible: None,
            reservation: None,
            service: false,
            hold: false,
            requeue: true,
            array: None,
            umask: 0o022,
            rlimits: Arc::default(),
            comment: None,
            mail: None,
            submit_host: String::new(),
            lease: None,
            replica: None,
        }
    }
}

impl Ask {
    /// The effective output pattern.
    #[must_use]
    pub fn stdout_pattern(&self) -> &str {
        match (&self.stdout, &self.array) {
            (Some(pattern), _) => pattern,
            (None, None) => "kant-%j.out",
            (None, Some(_)) => "kant-%A_%a.out",
        }
    }
}

/// The job as the controller keeps it: the request, the owner, and the hashes of its texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spec {
    pub owner: Owner,
    pub script: BlobHash,
    /// The environment: `NAME=value` entries, each ended by a NUL byte, as in /proc/PID/environ.
    pub environment: BlobHash,
    /// The request, with the queue and time limit filled in.
    pub ask: Ask,
}
