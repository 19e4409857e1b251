//! The node protocol: what kantd and kantctld say to each other over one WebSocket.
//! Level, not edge: a lost message is sent again on connect. Never a step without its attempt.

mod attach;
mod output;
mod resized;
mod set;
mod signal;
mod step;
mod task;

use crate::health::Finding;
use crate::id::{ArrayIndex, AttemptId, JobId, NodeName, QueueName};
use crate::job::{Launch, OpenMode, Owner, Rlimit, StepEnd, Warning};
use crate::node::Inventory;
use crate::resource::Allocation;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use attach::{Octets, StepHeard, StepInput, StepPiece, StepSaid, StepSpeech, StepStreams};
pub use output::{OutputChunk, OutputStream, ReadOutput};
pub use resized::Resized;
pub use set::{SetComponent, SetFacts};
pub use signal::{JobSignal, Reached, SignalJob, SignalNews};
pub use step::{AskSteps, StepAnswer, StepAsk, StepGpus, StepNews, StepShare, StepView, StepWish};
pub use task::{FeedTask, Manner, SignalTask, StartTask, StepMark, TaskNews, TaskState, WatchTask};

/// The version of this protocol. Both sides send theirs; the controller answers in the lower one.
pub const NODE_PROTOCOL: u32 = 1;

/// The path of the WebSocket.
pub const NODE_PATH: &str = "/v1/node-channel";

/// From kantd to kantctld.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromNode {
    /// First message of every connection.
    Hello(Box<Hello>),
    /// Steps whose phase changed since the last report on this connection.
    Report(Vec<StepStatus>),
    /// Answers `ToNode::ReadOutput`.
    Output(OutputChunk),
    /// All that is wrong with the node. Only to a controller whose Welcome said that it hears it.
    Health(Vec<Finding>),
    /// Answers `ToNode::StartTask`, `ToNode::WatchTask`, `ToNode::SignalTask`, `ToNode::FeedTask`.
    Task(TaskNews),
    /// Answers `ToNode::AskSteps`.
    Steps(Box<StepNews>),
    /// Answers `ToNode::SignalJob`.
    Signalled(SignalNews),
}

/// Who a node is, what it has, and what it runs: everything, on every connect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`NODE_PROTOCOL`] of the sender.
    pub protocol: u32,
    pub version: String,
    /// The node's name; must match its certificate.
    pub name: NodeName,
    /// A name or address other nodes reach it by.
    pub address: String,
    /// Of this installation of kantd (kept in its spool): two machines of a name are told apart.
    pub identity: String,
    pub inventory: Inventory,
    /// Every step it holds, ended ones too, until the controller no longer wants them.
    pub steps: Vec<StepStatus>,
    /// It reads [`ToNode::StartTask`] and what belongs to it; those of earlier releases do not.
    #[serde(default)]
    pub starts_tasks: bool,
    /// It reads [`ToNode::FeedTask`] and [`Manner`]; those of earlier releases do not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub feeds_tasks: bool,
    /// It reads [`ToNode::SignalJob`]; those of earlier releases do not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub signals_jobs: bool,
    /// It reads [`StepWish::Listen`] and what belongs to it; those of earlier releases do not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub passes_streams: bool,
}

/// Where one step is on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStatus {
    pub id: AttemptId,
    pub phase: StepPhase,
}

/// The phases of a step on a node, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepPhase {
    /// Its supervisor makes the cgroup, checks directory and files.
    Preparing,
    /// Everything stands; it waits for the word to run.
    Ready,
    /// Its processes run (on a node without a process of its own: it is held for the job).
    Running {
        /// Since when, by the node's clock.
        since: Time,
        /// They stand still, and its time limit with them.
        #[serde(default, skip_serializing_if = "is_false")]
        suspended: bool,
    },
    /// It is over and cleaned up: no process and no cgroup is left.
    Ended(Box<StepEnd>),
}

/// From kantctld to kantd.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToNode {
    /// Answers a Hello that was accepted.
    Welcome {
        /// [`NODE_PROTOCOL`] of the controller.
        protocol: u32,
        cluster: String,
        /// It can read [`FromNode::Health`]; those of earlier releases cannot.
        #[serde(default)]
        hears_health: bool,
    },
    /// Answers a Hello that was not; the connection ends after it.
    Refused {
        /// In full, for the node's log.
        reason: String,
    },
    /// Answers a Hello, or ends a session: another controller leads, or none; the connection ends.
    NotLeader {
        /// Where the one that leads is reached, `host:port`, if this one knows.
        leader: Option<String>,
    },
    /// What the node should run.
    Desired(DesiredUpdate),
    /// Asks for a piece of a job's output.
    ReadOutput(ReadOutput),
    /// Asks for a program in a job that runs. Only to a node whose Hello said that it reads it.
    StartTask(Box<StartTask>),
    /// Asks how such a program is doing. Only to such a node.
    WatchTask(WatchTask),
    /// Asks to send such a program a signal. Only to such a node.
    SignalTask(SignalTask),
    /// Asks a job's first node about its steps. Only to a node that reads [`ToNode::FeedTask`].
    AskSteps(Box<AskSteps>),
    /// Adds to what such a program reads. Only to a node whose Hello said that it reads this.
    FeedTask(FeedTask),
    /// Asks to signal a job's processes. Only to a node whose Hello said that it reads this.
    SignalJob(SignalJob),
}

/// What a node should run: everything, or what changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DesiredUpdate {
    /// True: `steps` is everything, and whatever is not in it must end or be forgotten.
    /// False: `steps` changed, `gone` left, the rest is as before.
    pub full: bool,
    /// Steps wanted, new or changed.
    pub steps: Vec<DesiredStep>,
    /// Steps no longer wanted: an ended one is forgotten, a living one is killed.
    pub gone: Vec<AttemptId>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for this shape
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for this shape
fn is_false(flag: &bool) -> bool {
    !flag
}

/// One step a node should have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DesiredStep {
    pub id: AttemptId,
    /// What should become of it.
    pub want: Want,
    /// Of one that runs: its processes stand still. Nodes of builds before let it run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspended: bool,
    /// Its time limit now, which may be another than its order's. Nodes of builds before keep to
    /// that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Span>,
    /// It was given another size while it ran. Nodes of builds before do not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resized: Option<Box<Resized>>,
    /// How to launch it; left out when the node already said it holds the attempt.
    pub order: Option<Box<LaunchOrder>>,
}

/// What should become of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Prepare and wait: other nodes of the gang are not ready.
    Prepare,
    /// Run (prepare first if need be).
    Run,
    /// End: SIGTERM, after `kill_grace` SIGKILL to all that is left.
    Stop,
}

/// Facts of an array that its tasks see in their environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayFacts {
    /// How many tasks it has.
    pub count: u32,
    pub min: ArrayIndex,
    pub max: ArrayIndex,
    pub step: u32,
    /// The plain number of this task (SLURM_JOB_ID); `None` from a controller that gives it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<JobId>,
}

/// All a node needs to run its share of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchOrder {
    pub id: AttemptId,
    pub cluster: String,
    pub job_name: String,
    /// Whom it runs as.
    pub owner: Owner,
    pub queue: QueueName,
    /// Whom it is charged to.
    pub account: Option<String>,
    pub script: String,
    pub args: Vec<String>,
    /// The environment it was submitted with.
    pub environment: BTreeMap<String, String>,
    pub work_dir: String,
    /// Standard input pattern; `None`: /dev/null.
    pub stdin: Option<String>,
    pub stdout: String,
    /// Error pattern; `None`: with stdout.
    pub stderr: Option<String>,
    /// What happens to existing output files. Attempts after the first always append.
    pub open_mode: OpenMode,
    /// The submitting shell's umask.
    pub umask: u32,
    /// The submitting shell's soft limits.
    pub rlimits: Vec<Rlimit>,
    /// How often the script runs.
    pub launch: Launch,
    /// An OCI bundle or a root file system to run in, an absolute path. Nodes of builds before
    /// cannot do that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Counted by the node from its first process.
    pub time_limit: Option<Span>,
    /// From its first process to its deadline, whether or not it stands still meanwhile; the time
    /// limit is never longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_deadline: Option<Span>,
    /// Sent before the time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<Warning>,
    /// Between SIGTERM and SIGKILL.
    pub kill_grace: Span,
    /// The whole allocation; the node's place in it is its rank.
    pub allocation: Allocation,
    /// The nodes' addresses, in the allocation's order.
    pub addresses: Vec<String>,
    /// How often the job was given another size by the time that it has this allocation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resized: u32,
    /// `--cpus-per-task`.
    pub cpus_per_task: u32,
    /// When it was submitted.
    pub submitted_at: Time,
    /// The host it was submitted from.
    pub submit_host: String,
    /// Set for a task of an array.
    pub array: Option<ArrayFacts>,
    /// Set for a component of a set. Nodes of builds before do not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Box<SetFacts>>,
}
