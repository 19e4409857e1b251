//! The protocol between kantd and kantctld over one WebSocket. It is level-triggered: on every
//! connect both sides send their complete state. Every message about a step names its attempt.

mod attach;
mod fence;
mod idle_gpus;
mod launch;
mod output;
mod resized;
mod route;
mod set;
mod signal;
mod step;
mod task;

use super::Protocols;
use crate::health::Finding;
use crate::id::{AttemptId, DataName, NodeName};
use crate::job::{ReplicaStatus, StepEnd};
use crate::node::Inventory;
use crate::serde_skip::is_default;
use crate::service::engine::ReplicaLoad;
use crate::service::load::RouterLoad;
use crate::time::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use attach::{Octets, StepHeard, StepInput, StepPiece, StepSaid, StepSpeech, StepStreams};
pub use fence::FenceTerms;
pub use idle_gpus::IdleGpus;
pub use launch::{ArrayFacts, LaunchOrder};
pub use output::{OutputChunk, OutputStream, ReadOutput};
pub use resized::Resized;
pub use route::{EndpointOrder, RouteOrder};
pub use set::{SetComponent, SetFacts};
pub use signal::{JobSignal, Reached, SignalJob, SignalNews};
pub use step::{AskSteps, StepAnswer, StepAsk, StepGpus, StepNews, StepShare, StepView, StepWish};
pub use task::{FeedTask, Manner, SignalTask, StartTask, StepMark, TaskNews, TaskState, WatchTask};

/// The newest version of this protocol. A node that shares no version with a controller is refused.
pub const NODE_PROTOCOL: u32 = 1;

/// The versions that this build speaks.
pub const NODE_PROTOCOLS: Protocols = Protocols::with_previous(NODE_PROTOCOL);

pub const NODE_PATH: &str = "/v1/node-channel";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum FromNode {
    /// The first message of every connection.
    Hello(Box<Hello>),
    /// Steps with a new phase since the last report on this connection.
    Report(Vec<StepStatus>),
    /// Answers [`ToNode::ReadOutput`].
    Output(OutputChunk),
    /// All problems of the node.
    Health(Vec<Finding>),
    /// The names of all data that the node has, in ascending order; at most
    /// [`DATA_PER_NODE_MAX`](crate::node::DATA_PER_NODE_MAX) count.
    Data(Vec<DataName>),
    /// Answers [`ToNode::StartTask`], [`ToNode::WatchTask`], [`ToNode::SignalTask`],
    /// [`ToNode::FeedTask`].
    Task(TaskNews),
    /// Answers [`ToNode::AskSteps`].
    Steps(Box<StepNews>),
    /// Answers [`ToNode::SignalJob`].
    Signalled(SignalNews),
    /// The load of the services, as the router on this node measures it.
    RouterLoad(RouterLoad),
    /// What is measured of the replicas of services, for autoscaling.
    ReplicaLoads(Vec<ReplicaLoad>),
    /// Replicas of services with a new state: all of them after every connect, then changes.
    Replicas(Vec<ReplicaStatus>),
    /// The idle GPUs of steps: all of them after every connect, then changes.
    IdleGpus(Vec<IdleGpus>),
    /// Asks whether the controller leads. Only to one with `fence` in its Welcome.
    ConfirmLeader { number: u64 },
    /// The node has a new certificate, of this step of the replacements of the cluster key.
    CertificateRenewed { generation: u32 },
}

/// A node's name, inventory and steps, complete on every connect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// The newest version of the sender.
    pub protocol: u32,
    /// The oldest one; `None`: the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_protocol: Option<u32>,
    pub version: String,
    /// Must match its certificate.
    pub name: NodeName,
    /// A name or address for other nodes.
    pub address: String,
    /// The identity of this installation of kantd, kept in its spool, which distinguishes two
    /// machines with one name.
    pub identity: String,
    pub inventory: Inventory,
    /// Every step that it holds, ended steps included, until the controller no longer wants them.
    pub steps: Vec<StepStatus>,
    /// It starts programs in jobs; an emulated node does not.
    #[serde(default)]
    pub starts_tasks: bool,
    /// A router on it serves services.
    #[serde(default, skip_serializing_if = "is_default")]
    pub routes: bool,
    /// The step of the replacements of the cluster key in which its certificate was issued.
    #[serde(default, skip_serializing_if = "is_default")]
    pub key_generation: u32,
}

/// The state of one step on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepStatus {
    pub id: AttemptId,
    pub phase: StepPhase,
}

/// The phases of a step on a node, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepPhase {
    /// Its supervisor creates the cgroup, and checks directory and files.
    Preparing,
    /// It is prepared, and waits for the order to run.
    Ready,
    /// Its processes run. On a node without a process of its own, the node is held for the job.
    Running {
        /// By the node's clock.
        since: Time,
        /// Its processes are frozen, and its time limit is paused.
        #[serde(default, skip_serializing_if = "is_default")]
        suspended: bool,
    },
    /// It has ended and is cleaned up: no process and no cgroup is left.
    Ended(Box<StepEnd>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum ToNode {
    /// Answers an accepted Hello.
    Welcome {
        /// The version that both use from now on.
        protocol: u32,
        cluster: String,
        /// It confirms that it leads, on these terms.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<FenceTerms>,
    },
    /// Answers a refused Hello; then the connection ends.
    Refused {
        /// In full, for the node's log.
        reason: String,
    },
    /// Answers a Hello, or ends a session, because this controller does not lead; then the
    /// connection ends.
    NotLeader {
        /// The address of the leader, `host:port`, if known.
        leader: Option<String>,
    },
    /// The steps that the node should run.
    Desired(DesiredUpdate),
    /// Requests a piece of a job's output.
    ReadOutput(ReadOutput),
    /// Starts a program in a running job. Only to a node with `starts_tasks` in its Hello.
    StartTask(Box<StartTask>),
    /// Requests the state of such a program. Only to such a node.
    WatchTask(WatchTask),
    /// Signals such a program. Only to such a node.
    SignalTask(SignalTask),
    /// A request to a job's first node about its steps.
    AskSteps(Box<AskSteps>),
    /// Appends to the input of such a program.
    FeedTask(FeedTask),
    /// Signals a job's processes.
    SignalJob(SignalJob),
    /// Answers [`FromNode::ConfirmLeader`]: this controller led, as a majority confirmed after it
    /// received that request.
    LeaderConfirmed { number: u64 },
    /// The step of the replacements of the cluster key. A node with a certificate of an earlier one
    /// renews it.
    KeyGeneration { generation: u32 },
    /// The services that a router on this node serves. Only to a node with `routes` in its Hello.
    Routes(Vec<RouteOrder>),
}

/// The steps that a node should run: all of them, or the changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DesiredUpdate {
    /// True: `steps` is complete, and any other step must end or be forgotten. False: `steps`
    /// changed, `gone` were removed, the rest is unchanged.
    pub full: bool,
    /// Wanted steps, new or changed.
    pub steps: Vec<DesiredStep>,
    /// Steps that are no longer wanted: an ended step is forgotten, a running one is killed.
    pub gone: Vec<AttemptId>,
}

/// A step that a node should have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DesiredStep {
    pub id: AttemptId,
    pub want: Want,
    /// The processes of a running step are frozen.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspended: bool,
    /// The current time limit, which may differ from the order's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Span>,
    /// The size that it received while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resized: Option<Box<Resized>>,
    /// The launch order; absent once the node has reported the attempt.
    pub order: Option<Box<LaunchOrder>>,
}

/// The target of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Prepare and wait, because other nodes of the gang are not ready.
    Prepare,
    /// Run, after preparation.
    Run,
    /// End: SIGTERM, and after `kill_grace` SIGKILL to all remaining processes.
    Stop,
}
