//! What goes from one part of the simulated world to another, but for what the real protocols
//! already name. Never holds a handle to anything.

use common::id::{AttemptId, ControllerId, JobId, JobKey};
use common::time::Span;
use common::wire::node::{FromNode, ToNode};
use common::wire::peer::PeerClock;
use replica::{Change, Completion, PeerMessage, ProposeError};
use state::{Command, Event};

/// A host of the simulated network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    Controller(ControllerId),
    /// A node, by its place.
    Node(usize),
    /// A host that users submit from.
    User(usize),
}

/// One connection of a node to a controller. Never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u64);

/// One try of a user's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskId {
    /// Its place in the plan.
    pub work: usize,
    pub attempt: u32,
}

/// What a user's request comes to at a controller.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// To be put into the log.
    Command(Box<Command>),
    /// The last job id is asked for.
    Look,
    /// The time limit of a job is asked for.
    Show(JobId),
}

/// What a user is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The job it became.
    Submitted(JobId),
    Changed(Vec<JobKey>),
    /// It makes no sense.
    Refused(String),
    /// The last job id.
    Last(JobId),
    /// A job's time limit; `None`: it has none, or is forgotten.
    Limit(Option<Span>),
    /// Somebody else leads, perhaps this one.
    NotLeader(Option<ControllerId>),
    /// Nobody can say whether it was accepted.
    Unknown,
}

/// Who waits for what becomes of something that was put to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ticket {
    Ask(AskId),
    /// A user who looks at a job.
    Show(AskId, JobId),
    /// The scheduler, in the term that began then, in milliseconds.
    Round(u64),
    /// A session that begins.
    Register(LinkId),
    Report(LinkId),
    /// A timer, or nobody.
    Nobody,
    Operator,
}

/// What a controller is told.
#[derive(Debug)]
pub enum Input {
    /// Some time has passed.
    Tick,
    /// Something of its own is due.
    Wake,
    /// A letter from another controller.
    PeerMessage(Vec<u8>),
    /// A letter to another could not be carried.
    Unreachable(ControllerId),
    /// A letter with a snapshot was carried, or not.
    SnapshotCarried(ControllerId, bool),
    Ask(AskId, Body),
    Propose(Box<Command>, Ticket),
    /// The operator changes members.
    Change(Vec<Change>),
    /// The operator has the lead handed on.
    Transfer,
    /// Another controller's clocks.
    Clock(ControllerId, PeerClock),
    /// A node says something.
    Up(LinkId, Box<FromNode>),
    /// A node's connection ended.
    Closed(LinkId),
}

/// What a controller does to others.
#[derive(Debug)]
pub enum Output {
    PeerMessage(PeerMessage),
    /// The same, on its way before this one's disk wrote.
    EarlyLetter(PeerMessage),
    Down(LinkId, Box<ToNode>),
    /// A node's connection ends.
    Close(LinkId),
    Reply(AskId, Reply),
    Changed(Result<Completion<Vec<Event>>, ProposeError>),
    /// What its clocks show, for all other controllers.
    Clock(PeerClock),
    /// It wants to be woken then, in milliseconds.
    Wake(u64),
}

/// What happens by itself to a step on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepChange {
    /// Its prolog is over.
    Prepared,
    Exits,
    /// Its time is over.
    TimesOut,
    /// It has ended after it was told to.
    Stopped,
}

/// What a node does to others.
#[derive(Debug)]
pub enum NodeOutput {
    Up(LinkId, Box<FromNode>),
    Close(LinkId),
    /// It dials again after so many milliseconds.
    DialIn(u64),
    /// Something becomes of a step after so many milliseconds.
    StepIn(u64, AttemptId, StepChange),
}
