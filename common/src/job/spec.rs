//! What a user asks for, and what the controller keeps of it. Never checks it; `check` does.

use super::array::ArraySpec;
use super::dependency::Dependency;
use super::mail::Mail;
use super::size::ResizeSignal;
use super::warning::Warning;
use crate::blob::BlobHash;
use crate::id::{AccountName, Gid, QosName, QueueName, ReservationName, Uid};
use crate::resource::Request;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Whose job it is. Decided by the kernel of the submitting host, never by the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub uid: Uid,
    /// The user's group at submission.
    pub gid: Gid,
    /// The user's name where the controller knows one, else the number as text.
    pub name: String,
}

/// How often the script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Launch {
    /// Once, on the first node, as sbatch does.
    #[default]
    Once,
    /// Once on every node (torchrun and the like).
    PerNode,
    /// Once for every task, with its rank in the environment.
    PerTask,
    /// Never: its nodes are held for programs that are started in it while it runs, until somebody
    /// says that it is over.
    Held,
}

/// What happens to an output file that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpenMode {
    /// It is emptied first (a requeued attempt appends all the same, as in Slurm).
    #[default]
    Truncate,
    /// Output is added to it.
    Append,
}

/// A soft limit of the submitting shell, by its name (`nofile`, `memlock`, `core`, ...;
/// man 2 getrlimit without RLIMIT_).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimit {
    /// The limit's name, lower case.
    pub name: String,
    /// The soft limit; `None`: unlimited.
    pub soft: Option<u64>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for this shape
fn is_false(flag: &bool) -> bool {
    !flag
}

/// What a user asks for: flags and script directives, merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ask {
    /// The job's name (`--job-name`); default: the script's file name.
    pub name: String,
    /// `None` in a submission: the default queue. The controller fills it in.
    pub queue: Option<QueueName>,
    pub account: Option<AccountName>,
    /// What was typed to have it run: the script's path and its arguments, or a program and its
    /// own; `None` where neither was, as with `--wrap`. For people: nothing runs by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Arguments of the script.
    pub args: Vec<String>,
    /// The directory it starts in; absolute.
    pub work_dir: String,
    /// Standard input; `None`: /dev/null. Patterns as for `stdout`.
    pub stdin: Option<String>,
    /// Output file, relative to `work_dir`, with `%j %A %a %x %u %N %n %t %%`;
    /// `None`: `kant-%j.out`, for arrays `kant-%A_%a.out`.
    pub stdout: Option<String>,
    /// Error file; `None`: with `stdout`.
    pub stderr: Option<String>,
    /// What happens to existing output files.
    pub open_mode: OpenMode,
    /// Resources.
    pub request: Request,
    /// How often the script runs.
    pub launch: Launch,
    /// Time limit; `None` in a submission: the queue's default.
    pub time_limit: Option<Span>,
    /// Without a time limit, where its queue allows that, whatever the queue's default
    /// (`--time=UNLIMITED`).
    #[serde(skip_serializing_if = "is_false")]
    pub unlimited: bool,
    /// What its processes see as `/`: an OCI bundle or a root file system, an absolute path on its
    /// nodes (`--container`); `None`: the node's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Before its time limit (`--signal`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<Warning>,
    /// When it is given another size while it runs (`--resize-signal`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resize_signal: Option<ResizeSignal>,
    /// Not before (`--begin`).
    pub begin_at: Option<Time>,
    /// Waits for other jobs (`--dependency`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependency: Option<Dependency>,
    /// Cancelled once what it waits for cannot come any more (`--kill-on-invalid-dep`).
    #[serde(skip_serializing_if = "is_false")]
    pub kill_on_invalid_dependency: bool,
    /// Lowers (positive) or, for operators, raises (negative) the priority.
    pub nice: i32,
    /// The quality of service (`--qos`).
    pub qos: Option<QosName>,
    /// Over by then, or not started at all (`--deadline`).
    pub deadline: Option<Time>,
    /// May be made to yield (`--preemptible`); `None`: as its QoS or queue says.
    pub preemptible: Option<bool>,
    /// The booking it runs in (`--reservation`).
    pub reservation: Option<ReservationName>,
    /// A service that answers requests: E-Spread spreads these (`--service`).
    pub service: bool,
    /// Wait until released (`--hold`).
    pub hold: bool,
    /// Start again as a new attempt after a node was lost (`--requeue`, the default).
    pub requeue: bool,
    /// An array of tasks.
    pub array: Option<ArraySpec>,
    /// The umask of the submitting shell.
    pub umask: u32,
    /// Soft limits of the submitting shell.
    pub rlimits: Arc<[Rlimit]>,
    /// A word of the user's.
    pub comment: Option<String>,
    /// Letters about it (`--mail-type`, `--mail-user`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail: Option<Mail>,
    /// The host it was submitted from.
    pub submit_host: String,
    /// It is over when whoever waits for it has been silent for so long; `None`: nobody need wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<Span>,
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
        }
    }
}

impl Ask {
    /// The output pattern that applies.
    #[must_use]
    pub fn stdout_pattern(&self) -> &str {
        match (&self.stdout, &self.array) {
            (Some(pattern), _) => pattern,
            (None, None) => "kant-%j.out",
            (None, Some(_)) => "kant-%A_%a.out",
        }
    }
}

/// What the controller keeps of a job: the ask, whose it is, and its texts by hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Whose job it is.
    pub owner: Owner,
    pub script: BlobHash,
    /// The environment: lines `NAME=value` each ended by a NUL byte, as in /proc/PID/environ.
    pub environment: BlobHash,
    /// What was asked, with the queue and time limit filled in.
    pub ask: Ask,
}
