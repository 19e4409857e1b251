//! The API of kantctld for kantctl and other programs: JSON over HTTP, under /v1. Readers ignore
//! unknown fields.
//!
//! | method and path | body -> answer |
//! |---|---|
//! | POST /v1/jobs | `SubmitRequest` -> `SubmitAnswer` |
//! | POST /v1/jobs/batch | `BatchRequest` -> `BatchAnswer`: many submits |
//! | GET /v1/jobs?`JobQuery` | -> `JobList`; with `lines` a `Looked`, then one `JobView` per line |
//! | GET /v1/jobs/{key} | -> `JobList`: one job, or the tasks of an array; with events |
//! | POST /v1/jobs/{key}/{cancel,hold,release,requeue,suspend,resume} | `()` -> `Changed` |
//! | POST /v1/jobs/{key}/checkpoint | `()` -> `CheckpointAnswer`: the job has a checkpoint |
//! | POST /v1/jobs/{key}/update | `UpdateRequest` -> `Changed` |
//! | GET /v1/jobs/{key}/wait?seconds=&until=started | -> `JobList`, once Done (or running), or late
//! |
//! | GET /v1/jobs/{key}/explain | -> `Explanation` |
//! | GET /v1/jobs/{key}/script | -> text |
//! | GET /v1/jobs/{key}/output?stream=&offset=&wait_seconds= | -> bytes; `x-kant-ended: 1` at end |
//! | GET /v1/jobs/{key}/output/events?stream=&offset= | -> `OutputEvent`s as server-sent events |
//! | POST /v1/jobs/{key}/tasks | `LaunchRequest` -> `LaunchAnswer` (the job's owner) |
//! | POST /v1/jobs/{key}/tasks/{task}/signal, /input | `SignalRequest`, bytes -> `LaunchAnswer` |
//! | GET /v1/jobs/{key}/tasks/{task}?`TaskQuery` | -> stdout, then stderr; headers have the state |
//! | GET, POST /v1/jobs/{key}/steps | -, `StepWish` (its owner) -> `StepList`, `StepAnswer` |
//! | POST /v1/jobs/{key}/attend | `()` -> `AttendAnswer`: a client renews the job's lease |
//! | POST /v1/jobs/{key}/finish | `FinishRequest` -> `Changed` (an interactive job) |
//! | GET /v1/nodes, /v1/nodes/{name} | -> `NodeList` |
//! | GET /v1/map | -> `ClusterMap`: all nodes by leaf group, and the jobs of each GPU |
//! | POST /v1/nodes/{name}/{drain,resume} | `DrainRequest`, `()` -> `ChangedNodes` |
//! | POST /v1/jobs/trial | `SubmitRequest` -> `TrialView` |
//! | POST /v1/jobs/{key}/what-if, /solve | `WhatIfRequest` -> `WhatIfView`, `SolveRequest` -> .. |
//! | GET /v1/priority?job=, /v1/share, /v1/metrics | `PriorityList`, `ShareList`, `MetricsView` |
//! | GET /v1/accounting/jobs?since=, /v1/accounting/nodes | -> CSV, as `simulate` reads it |
//! | GET /v1/history?`HistoryQuery`, /v1/report?`ReportQuery` | -> `HistoryList`, `ReportView` |
//! | GET /v1/watch?`WatchQuery` | -> one `Happened` per line, without end |
//! | GET /v1/events?`WatchQuery` | -> the same as server-sent events, with `Last-Event-ID` |
//! | GET, POST /v1/reservations | -, `ReservationRequest` -> `ReservationList` |
//! | POST /v1/reservations/{name}/update, /delete | `ReservationPatch`, `()` |
//! | GET, POST /v1/services | -, `DeployRequest` -> `ServiceList`, `DeployAnswer` |
//! | GET /v1/services/{name} | -> `ServiceList`: one service, with its events |
//! | POST /v1/services/{name}/scale, /rollback | `ScaleRequest`, `RollbackRequest` -> .. |
//! | POST /v1/services/{name}/{pause,resume,promote,stop} | `()` -> `ServiceList` |
//! | GET /v1/services/{name}/endpoints | -> targets as Prometheus' http_sd reads them |
//! | GET /v1/queues, /v1/accounts | -> `QueueList`, `AccountList`, which includes the QoS |
//! | GET, POST /v1/tokens | `TokenQuery`, `TokenRequest` -> `TokenList`, `TokenAnswer` |
//! | POST /v1/tokens/{id}/revoke | `()` -> `TokenList`: the revoked token |
//! | POST /v1/reload | `()` -> `ReloadAnswer` (operators) |
//! | GET /v1/openapi.json | -> this table with all types, in OpenAPI 3.1 |
//! | GET /v1/status, /v1/controllers | -> `Status`, `ControllerList` |
//! | POST /v1/controllers, /v1/controllers/invite | `JoinRequest`, `InviteRequest` -> answers |
//! | POST /v1/controllers/{id}/promote, /remove, /transfer | -> `ControllerList` |
//! | GET /v1/audit?`AuditQuery` | -> `AuditList` (operators) |
//! | GET /v1/enrolments | -> `EnrolmentList` (operators) |
//! | GET /v1/invitations, POST /v1/invitations/{id}/withdraw | -> `InvitationList` (operators) |
//! | POST /v1/enrolments/invite | `NodeInviteRequest` -> `InviteAnswer` (operators) |
//! | POST /v1/enrolments/join, /renew | `EnrolRequest`, `RenewRequest` -> `IssuedCertificate` |
//! | POST /v1/enrolments/{name}/revoke | `()` -> `EnrolmentList` (operators) |
//! | GET /v1/upgrade | -> `UpgradeView` (operators) |
//! | GET /v1/cluster-key | -> `ClusterKeyView` (operators) |
//! | POST /v1/cluster-key/{rotate,cancel,adopt} | `()` -> `ClusterKeyView` (operators) |
//! | POST /v1/cluster-key/advance | `KeyGeneration` -> `ClusterKeyView` (operators) |
//! | GET /v1/cluster-key/generation | -> `KeyGeneration` (controllers) |
//! | POST /v1/cluster-key/offer | `KeyOffer` -> `KeyGeneration` (controllers) |

mod accounts;
mod audit;
mod changed;
mod cluster_key;
mod controllers;
mod enrolment;
mod explanation;
mod export;
mod history;
mod idle_gpus;
mod job_name;
mod map;
mod metrics;
mod nodes;
mod output;
mod priority;
mod problem;
mod queues;
mod reload;
mod reservation;
mod resize;
mod service;
mod share;
mod solve;
mod status;
mod submit;
mod task;
mod token;
mod upgrade;
mod watch;
mod what_if;

use crate::id::{JobId, JobKey, NodeName, QueueName, Uid};
use crate::job::{Ask, ExitStatus, Outcome, Owner, Phase, SetPlace, Usage};
use crate::reason::WaitReason;
use crate::resource::Allocation;
use crate::serde_skip::is_default;
use crate::time::{Span, Time};
use crate::unit::{Bytes, Cpus, Gpus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use accounts::AccountList;
pub use audit::{AuditCheck, AuditList, AuditQuery, AuditView};
pub use changed::{Changed, ChangedNodes, CheckpointAnswer};
pub use cluster_key::{ClusterKeyView, KeyGeneration, KeyOffer, RotationStep, RotationView};
pub use controllers::{
    ControllerList, ControllerRole, ControllerView, InviteAnswer, InviteRequest, JoinAnswer,
    JoinRequest,
};
pub use enrolment::{
    EnrolRequest, EnrolmentList, EnrolmentView, InvitationList, InvitationView, IssuedCertificate,
    NodeInviteRequest, RenewRequest, Secret,
};
pub use explanation::Explanation;
pub use export::{ExportQuery, TargetGroup};
pub use history::{
    EstimatesRow, EstimatesView, HistoryList, HistoryQuery, HistoryRun, NodeStretch, NodeUse,
    ReportQuery, ReportRow, ReportView, RunGroup,
};
pub use idle_gpus::{IdleGpuList, IdleGpuQuery, IdleJob};
pub use map::{ClusterMap, MapGroup, MapJob, MapNode};
pub use metrics::{KindUse, MetricsView, SpanBucket, WaitBucket};
pub use nodes::{DrainRequest, NodeList, NodeView};
pub use output::{OutputEvent, OutputQuery, Until, WaitQuery};
pub use priority::{FactorView, PriorityList, PriorityQuery, PriorityView};
pub use problem::Problem;
pub use queues::{QueueHeld, QueueList};
pub use reload::ReloadAnswer;
pub use reservation::{ReservationList, ReservationPatch, ReservationRequest, ReservationView};
pub use resize::ResizeRequest;
pub use service::{
    DeployAnswer, DeployRequest, ReplicaView, RoleExplanation, RoleView, RollbackRequest,
    ScaleRequest, ServiceEventView, ServiceExplanation, ServiceList, ServiceState, ServiceView,
};
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
pub use token::{TokenAnswer, TokenList, TokenQuery, TokenRequest, TokenView};
pub use upgrade::{ControllerRelease, NodeRelease, UpgradeStep, UpgradeView};
pub use watch::{
    EventSequence, HEARTBEAT_SECONDS_MAX, Happened, NOTICES, NoSequence, Since, WatchQuery,
};
pub use what_if::{StartOutlook, TrialView, UpdateRequest, WhatIfRequest, WhatIfView};

/// Why a job waits: a code for programs and Slurm users, and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonView {
    pub code: String,
    pub sentence: String,
    /// Absent in brief lists.
    #[serde(default)]
    pub detail: WaitReason,
}

/// One entry of a job's timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineEntry {
    pub at: Time,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobView {
    pub key: JobKey,
    /// The job id, of an array task as well (SLURM_JOB_ID); every path accepts it as the key.
    /// `None` for array tasks without one yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<JobId>,
    /// The position in a het job; `None` for other jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<SetPlace>,
    pub owner: Owner,
    /// The request, with queue and time limit filled in. GET /v1/jobs omits large parts: `args`,
    /// `rlimits`, `only_nodes`, `not_nodes` are empty and `array` is null there.
    pub ask: Ask,
    pub phase: Phase,
    /// Only once Done.
    pub outcome: Option<Outcome>,
    /// The Slurm state.
    pub state: String,
    pub state_code: String,
    #[serde(default)]
    pub held: bool,
    /// Only while Pending.
    pub reason: Option<ReasonView>,
    /// The open conditions of its dependency in the form of `squeue -o %E`:
    /// `afterok:20(unfulfilled)`; only while Pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency: Option<String>,
    /// Its position among all waiting jobs, from 1; only while Pending.
    pub position: Option<u32>,
    /// From 1; 0 before the first start.
    #[serde(default)]
    pub attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<Uid>,
    /// For a task of an array: the maximum number of its tasks that run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_limit: Option<u32>,
    pub submitted_at: Time,
    /// How long it was expected to run when it was submitted, from the last runs of its user's
    /// jobs. `None`: they say nothing, or no less than the time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_run_time: Option<Span>,
    /// The start of its current attempt.
    pub started_at: Option<Time>,
    pub ended_at: Option<Time>,
    /// The begin of its current suspension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_at: Option<Time>,
    /// The total of its attempt's earlier suspensions, which do not count as run time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspended: Span,
    /// The last checkpoint of its current attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_at: Option<Time>,
    /// Kept after the job's end.
    pub allocation: Option<Allocation>,
    /// Nodes that it gave up while it runs, and that have not released it yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaving: Vec<NodeName>,
    /// Nodes of the allocation that are joining the running job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joining: Vec<NodeName>,
    /// CPUs, memory and GPUs of the allocation, or of the request while it waits.
    pub cpus: Cpus,
    pub memory: Bytes,
    pub gpus: Gpus,
    /// The exit of its script.
    pub exit: Option<ExitStatus>,
    pub usage: Option<Usage>,
    /// For users: why the launch failed, or which limit was exceeded.
    pub message: Option<String>,
    /// Its timeline; only in GET /v1/jobs/{key}.
    #[serde(default)]
    pub timeline: Vec<TimelineEntry>,
}

/// The first line of an answer in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Looked {
    /// The controller's time of the answer.
    pub as_of: Time,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobList {
    /// Running jobs first, then waiting ones in order, then finished ones, latest first.
    pub jobs: Vec<JobView>,
    /// The number of all that match; only with [`JobQuery::limit`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The controller's time of the answer.
    pub as_of: Time,
}

/// A selection of jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JobQuery {
    pub all: bool,
    /// A name or uid.
    pub user: Option<String>,
    pub queue: Option<QueueName>,
    pub node: Option<NodeName>,
    /// Send the answer in lines while it is produced: a [`Looked`], then one [`JobView`] per line,
    /// with only the fields that tables of jobs show, which takes a third of the bytes.
    pub lines: bool,
    /// The most jobs of the answer; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Leave this many of the first out.
    #[serde(skip_serializing_if = "is_default")]
    pub offset: usize,
}
