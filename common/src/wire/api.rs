//! The API of kantctld as kantctl and other programs see it: JSON over HTTP, under /v1.
//! Every type here is data of the wire; unknown fields are skipped by readers. Never holds logic.
//!
//! | method and path | body -> answer |
//! |---|---|
//! | POST /v1/jobs | `SubmitRequest` -> `SubmitAnswer` |
//! | POST /v1/jobs/batch | `BatchRequest` -> `BatchAnswer`: many submits |
//! | GET /v1/jobs?`JobQuery` | -> `JobList`; with `lines` a `Looked`, then a `JobView` a line |
//! | GET /v1/jobs/{key} | -> `JobList`: one job, or the tasks of an array; with events |
//! | POST /v1/jobs/{key}/{cancel,hold,release,requeue,suspend,resume} | `()` -> `Changed` |
//! | POST /v1/jobs/{key}/checkpoint | `()` -> `CheckpointAnswer`: its work so far is saved |
//! | POST /v1/jobs/{key}/update | `UpdateRequest` -> `Changed` |
//! | GET /v1/jobs/{key}/wait?seconds=&until=started | -> `JobList`, once Done (or runs), or late |
//! | GET /v1/jobs/{key}/explain | -> `Explanation` |
//! | GET /v1/jobs/{key}/script | -> text |
//! | GET /v1/jobs/{key}/output?stream=&offset=&wait_seconds= | -> bytes; `x-kant-ended: 1` at end |
//! | POST /v1/jobs/{key}/tasks | `LaunchRequest` -> `LaunchAnswer` (the job's owner) |
//! | POST /v1/jobs/{key}/tasks/{task}/signal, /input | `SignalRequest`, bytes -> `LaunchAnswer` |
//! | GET /v1/jobs/{key}/tasks/{task}?`TaskQuery` | -> its output and errors; headers say more |
//! | GET, POST /v1/jobs/{key}/steps | -, `StepWish` (its owner) -> `StepList`, `StepAnswer` |
//! | POST /v1/jobs/{key}/attend | `()` -> `AttendAnswer`: somebody waits for it |
//! | POST /v1/jobs/{key}/finish | `FinishRequest` -> `Changed` (a job whose nodes are held) |
//! | GET /v1/nodes, /v1/nodes/{name} | -> `NodeList` |
//! | POST /v1/nodes/{name}/{drain,resume} | `DrainRequest`, `()` -> `Changed` |
//! | POST /v1/jobs/trial | `SubmitRequest` -> `TrialView` |
//! | POST /v1/jobs/{key}/what-if, /solve | `WhatIfRequest` -> `WhatIfView`, `SolveRequest` -> .. |
//! | GET /v1/priority?job=, /v1/share, /v1/metrics | `PriorityList`, `ShareList`, `MetricsView` |
//! | GET /v1/accounting/jobs?since=, /v1/accounting/nodes | -> CSV, as `simulate` reads it |
//! | GET /v1/history?`HistoryQuery`, /v1/report?`ReportQuery` | -> `HistoryList`, `ReportView` |
//! | GET /v1/watch?`WatchQuery` | -> a `Happened` a line, without an end |
//! | GET, POST /v1/reservations | -, `ReservationRequest` -> `ReservationList` |
//! | POST /v1/reservations/{name}/update, /delete | `ReservationPatch`, `()` |
//! | GET /v1/queues, /v1/accounts | -> `QueueList`, `AccountList`, with the qualities of service |
//! | POST /v1/reload | `()` -> `ReloadAnswer` (operators) |
//! | GET /v1/status, /v1/controllers | -> `Status`, `ControllerList` |
//! | POST /v1/controllers, /v1/controllers/invite | `JoinRequest`, `InviteRequest` -> answers |
//! | POST /v1/controllers/{id}/promote, /remove, /transfer | -> `ControllerList` |

mod accounts;
mod changed;
mod controllers;
mod explanation;
mod history;
mod job_name;
mod metrics;
mod priority;
mod queues;
mod reload;
mod reservation;
mod resize;
mod share;
mod solve;
mod status;
mod submit;
mod task;
mod watch;
mod what_if;

use crate::health::Finding;
use crate::id::{JobId, JobKey, NodeName, QueueName, Uid};
use crate::job::{Ask, ExitStatus, Outcome, Owner, Phase, SetPlace, Usage};
use crate::node::{Contact, Drain, Inventory, NodeStatus, Resumed};
use crate::reason::WaitReason;
use crate::resource::Allocation;
use crate::time::{Span, Time};
use crate::unit::{Bytes, Cpus, Gpus};
use serde::{Deserialize, Serialize};

pub use accounts::AccountList;
pub use changed::{Changed, CheckpointAnswer};
pub use controllers::{
    ControllerList, ControllerRole, ControllerView, InviteAnswer, InviteRequest, JoinAnswer,
    JoinRequest,
};
pub use explanation::Explanation;
pub use history::{
    HistoryList, HistoryQuery, HistoryRun, NodeStretch, NodeUse, ReportQuery, ReportRow, ReportView,
};
pub use metrics::{KindUse, MetricsView, SpanBucket, WaitBucket};
pub use priority::{FactorView, PriorityList, PriorityQuery, PriorityView};
pub use queues::{QueueHeld, QueueList};
pub use reload::ReloadAnswer;
pub use reservation::{ReservationList, ReservationPatch, ReservationRequest, ReservationView};
pub use resize::ResizeRequest;
pub use share::{Lender, ShareList, ShareOf, ShareView};
pub use solve::{MoveView, SolveAnswer, SolveRequest, SolveView};
pub use status::Status;
pub use submit::{
    BATCH_BYTES_MAX, BATCH_JOBS_MAX, BatchAnswer, BatchJob, BatchOutcome, BatchRequest, SetRequest,
    SubmitAnswer, SubmitRequest,
};
pub use task::{
    AttendAnswer, FeedQuery, FinishRequest, JobSignalRequest, LaunchAnswer, LaunchRequest,
    STDOUT_BYTES, SignalRequest, StepList, TASK_STATE, TaskQuery,
};
pub use watch::{Happened, WatchQuery};
pub use what_if::{StartOutlook, TrialView, UpdateRequest, WhatIfRequest, WhatIfView};

/// Why a job waits, twice: a word for programs and Slurm's users, a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasonView {
    pub code: String,
    pub sentence: String,
    /// As data; not in brief lists.
    #[serde(default)]
    pub detail: WaitReason,
}

/// One line of a job's story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryLine {
    pub at: Time,
    /// What happened, in a sentence.
    pub text: String,
}

/// A job, or one task of an array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobView {
    /// The job or array task.
    pub key: JobKey,
    /// Its plain number, of an array's task too (SLURM_JOB_ID); every path takes it for the key.
    /// `None` of tasks of arrays of before they had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<JobId>,
    /// Which component of which set it is; `None`: of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<SetPlace>,
    pub owner: Owner,
    /// What was asked, queue and time limit filled in. GET /v1/jobs leaves out what is bulky:
    /// `args`, `rlimits`, `only_nodes`, `not_nodes` are empty and `array` is null there.
    pub ask: Ask,
    pub phase: Phase,
    /// How it ended, once Done.
    pub outcome: Option<Outcome>,
    /// Slurm's word for the two.
    pub state: String,
    pub state_code: String,
    #[serde(default)]
    pub held: bool,
    /// Why it waits, while Pending.
    pub reason: Option<ReasonView>,
    /// What it still waits for of other jobs, as `squeue -o %E` shows it:
    /// `afterok:20(unfulfilled)`; while Pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency: Option<String>,
    /// Its place among all waiting jobs, from 1, while Pending.
    pub position: Option<u32>,
    /// Which attempt, from 1; 0 before the first start.
    #[serde(default)]
    pub attempt: u32,
    /// Who cancelled it, if somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<Uid>,
    /// Of a task of an array: how many of them may run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_limit: Option<u32>,
    /// When it was submitted.
    pub submitted_at: Time,
    /// When its current attempt began to run.
    pub started_at: Option<Time>,
    /// When it was over.
    pub ended_at: Option<Time>,
    /// Since when it is suspended, while it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_at: Option<Time>,
    /// How long its attempt was suspended before: no time of its own.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub suspended: Span,
    /// When it last said that all its work so far is saved, in its current attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_at: Option<Time>,
    /// What it was given; kept after its end for the record.
    pub allocation: Option<Allocation>,
    /// Nodes that it gave up while it ran, and that have not let go of it yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaving: Vec<NodeName>,
    /// Nodes that join it while it runs, and do not run it yet; in the allocation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joining: Vec<NodeName>,
    /// CPUs, memory and GPUs of the allocation, or as asked while it waits.
    pub cpus: Cpus,
    pub memory: Bytes,
    pub gpus: Gpus,
    /// How its script exited, once it did.
    pub exit: Option<ExitStatus>,
    /// What it used, once it ended.
    pub usage: Option<Usage>,
    /// For people: why the launch failed, what was over the limit.
    pub message: Option<String>,
    /// Its story; filled in by GET /v1/jobs/{key} alone.
    #[serde(default)]
    pub story: Vec<StoryLine>,
}

/// The first line of an answer in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// The controller's time when it looked.
    pub as_of: Time,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobList {
    /// Running ones first, then waiting ones in order, then finished ones, latest first.
    pub jobs: Vec<JobView>,
    /// The controller's time when it looked.
    pub as_of: Time,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeView {
    pub name: NodeName,
    /// Slurm's word for its state.
    pub status: NodeStatus,
    /// Whether the controller hears from it.
    pub contact: Contact,
    /// Why and by whom it is drained.
    pub drain: Option<Drain>,
    /// The last time that an operator put it in use again.
    #[serde(default)]
    pub resumed: Option<Resumed>,
    pub inventory: Inventory,
    pub cpus_used: Cpus,
    pub memory_used: Bytes,
    pub gpus_used: Gpus,
    pub jobs: Vec<JobKey>,
    /// A name or address it is reached by.
    pub address: String,
    pub version: String,
    /// What it finds wrong with itself.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeList {
    pub nodes: Vec<NodeView>,
    /// The controller's time when it looked.
    pub as_of: Time,
}

/// Which jobs to list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobQuery {
    pub all: bool,
    /// Only this user's (name or uid).
    pub user: Option<String>,
    /// Only of this queue.
    pub queue: Option<QueueName>,
    /// Only on this node.
    pub node: Option<NodeName>,
    /// In lines, read while they are written: a [`Looked`], then a [`JobView`] each, with only what
    /// is set and tables of jobs show, a third of the bytes.
    pub lines: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainRequest {
    /// Why; shown in `kantctl nodes`.
    pub reason: String,
}
