//! Messages between the parts of the simulated world, except those of the real protocols.

use common::id::{AttemptId, ControllerId, JobId, JobKey};
use common::job::EndCause;
use common::rules_level::RulesLevel;
use common::time::Span;
use common::wire::node::{FromNode, ToNode};
use common::wire::peer::PeerReport;
use replica::{Change, Completion, PeerMessage, ProposeError};
use state::{Command, Event};

/// A host of the simulated network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    Controller(ControllerId),
    /// A node, by its index.
    Node(usize),
    /// A host from which users submit.
    User(usize),
}

/// One connection of a node to a controller. An id is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u64);

/// One try of a user's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskId {
    /// Index of the user action in the plan.
    pub work: usize,
    pub attempt: u32,
}

/// A user's request as a controller receives it.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A command for the log.
    Command(Box<Command>),
    /// A read of the last job id.
    Look,
    /// A read of a job's time limit.
    Show(JobId),
}

/// The answer to a user.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The id of the submitted job.
    Submitted(JobId),
    Changed(Vec<JobKey>),
    /// The request was refused, for this reason.
    Refused(String),
    /// The last job id.
    Last(JobId),
    /// A job's time limit; `None` if it has none or the job is forgotten.
    Limit(Option<Span>),
    /// The controller does not lead; perhaps this one does.
    NotLeader(Option<ControllerId>),
    /// It is unknown whether the request was accepted.
    Unknown,
}

/// The destination of the result of a proposal or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ticket {
    Ask(AskId),
    /// A user's read of a job.
    Show(AskId, JobId),
    /// A scheduling round, in the term that began at this time in milliseconds.
    Round(u64),
    /// The registration of a session.
    Register(LinkId),
    Report(LinkId),
    /// A node's request of this number to confirm that this controller leads.
    Confirm(LinkId, u64),
    /// A command for a service, in the term that began at this time in milliseconds.
    Service(u64),
    /// A timer or another proposal whose result is not used.
    Unused,
    Operator,
}

/// An input of a controller.
#[derive(Debug)]
pub enum Input {
    /// One tick of time has passed.
    Tick,
    /// A planned action of the controller is due.
    Wake,
    /// A message from another controller.
    PeerMessage(Vec<u8>),
    /// A message to another controller could not be delivered.
    Unreachable(ControllerId),
    /// A message with a snapshot was delivered, or was not.
    SnapshotCarried(ControllerId, bool),
    Ask(AskId, Body),
    Propose(Box<Command>, Ticket),
    /// The operator changes the members.
    Change(Vec<Change>),
    /// The operator requests a transfer of the leadership.
    Transfer,
    /// A report of another controller.
    Report(ControllerId, PeerReport),
    /// A message from a node.
    Up(LinkId, Box<FromNode>),
    /// A node's connection ended.
    Closed(LinkId),
}

/// An output of a controller.
#[derive(Debug)]
pub enum Output {
    PeerMessage(PeerMessage),
    /// A message that is sent before the sender's own disk has written.
    EarlyMessage(PeerMessage),
    Down(LinkId, Box<ToNode>),
    /// Closes a node's connection.
    Close(LinkId),
    Reply(AskId, Reply),
    Changed(Result<Completion<Vec<Event>>, ProposeError>),
    /// Its report to all other controllers.
    Report(PeerReport),
    /// As the leader, it proposes to raise the rules level.
    RaisesRules(RulesLevel),
    /// Requests to run again at this time, in milliseconds.
    Wake(u64),
}

/// A change that happens to a step by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepChange {
    /// Its prolog has ended.
    Prepared,
    Exits,
    /// Its time limit has passed.
    TimesOut,
    /// It has ended after a stop.
    Stopped,
    /// A replica answers from now on.
    Answers,
    /// What is bound to happen to a replica happens.
    FateComes,
    /// A replica answers again.
    Recovers,
    /// Its node probes a replica.
    Probed,
    /// Its startup probe has failed for too long.
    StartsTooLong,
    /// A replica ends by itself, or its node ends it.
    ReplicaEnds(EndCause),
    /// The drain delay of a replica has passed.
    Drained,
}

/// An output of a node.
#[derive(Debug)]
pub enum NodeOutput {
    Up(LinkId, Box<FromNode>),
    Close(LinkId),
    /// Connects again after this many milliseconds.
    DialIn(u64),
    /// A step changes after this many milliseconds.
    StepIn(u64, AttemptId, StepChange),
}
