//! The agenda of the simulated world: future events by time. Events at the same time happen in the
//! order in which they were added.

use crate::message::{AskId, Body, LinkId, Reply, StepChange};
use common::id::{AttemptId, ControllerId};
use common::wire::node::{FromNode, ToNode};
use common::wire::peer::PeerReport;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

#[derive(Debug)]
pub enum Event {
    /// A controller's process handles its inbox. The number is the time planned for it.
    Run(ControllerId, u64),
    /// A tick of a controller's logical clock. The number is the start of the process it belongs
    /// to.
    Tick(ControllerId, u64),
    /// A controller's process starts.
    Start(ControllerId),
    PeerMessage {
        from: ControllerId,
        to: ControllerId,
        /// It holds a snapshot, and the sender learns whether it arrived.
        has_snapshot: bool,
        bytes: Vec<u8>,
    },
    /// A report that the first controller sent arrives at the second.
    Report(ControllerId, ControllerId, PeerReport),
    /// A user begins an action of the plan.
    Work(usize),
    /// A user's request arrives at a controller.
    Ask(ControllerId, AskId, Body),
    /// A user repeats a request that is not answered.
    AskAgain(AskId),
    /// An answer arrives at a user.
    Reply(AskId, Reply),
    /// A node connects to a controller. The number is the start of kantd it belongs to.
    Dial(usize, u64),
    /// The time limit of a node's wait for a welcome ends.
    WelcomeLimit(LinkId),
    /// A node's message arrives at its controller.
    Up(LinkId, Box<FromNode>),
    /// A controller's message arrives at its node.
    Down(LinkId, Box<ToNode>),
    /// A controller learns that a connection is closed.
    UpClosed(LinkId),
    /// A node learns that a connection is closed, or could not be made.
    DownClosed(LinkId),
    /// A step changes by itself.
    Step(usize, AttemptId, StepChange),
    Kantd(usize),
    /// A controller that granted a vote is killed.
    VoterDies(ControllerId),
    FaultBegins(usize),
    FaultEnds(usize),
    Operator,
    /// Dead connections are closed, and judges check the state.
    Sample,
    /// A node asks for a leader, and looks at its fence.
    Fence(usize),
    /// The router on a node reports its load.
    Load(usize),
}

struct Entry {
    at_ms: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at_ms, self.number).cmp(&(other.at_ms, other.number))
    }
}

#[derive(Default)]
pub struct Agenda {
    entries: BinaryHeap<Reverse<Entry>>,
    number: u64,
}

impl Agenda {
    /// Adds an event at a time in milliseconds.
    pub fn add(&mut self, at_ms: u64, event: Event) {
        self.number += 1;
        self.entries.push(Reverse(Entry { at_ms, number: self.number, event }));
    }

    /// Takes the next event, with its time in milliseconds.
    pub fn pop(&mut self) -> Option<(u64, Event)> {
        self.entries.pop().map(|Reverse(entry)| (entry.at_ms, entry.event))
    }
}
