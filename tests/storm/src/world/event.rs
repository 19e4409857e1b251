//! What is to happen, and when. Never reorders what is to happen at one time.

use crate::message::{AskId, Body, LinkId, Reply, StepChange};
use common::id::{AttemptId, ControllerId};
use common::wire::node::{FromNode, ToNode};
use common::wire::peer::PeerClock;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Something that is to happen.
#[derive(Debug)]
pub enum Event {
    /// A controller's process does what has come together.
    Run(ControllerId, u64),
    /// A controller's logical clock.
    Tick(ControllerId, u64),
    /// A controller's process is started.
    Start(ControllerId),
    PeerMessage {
        from: ControllerId,
        to: ControllerId,
        /// It holds a snapshot, whose fate the sender is to learn.
        has_snapshot: bool,
        bytes: Vec<u8>,
    },
    /// What another controller's clocks showed arrives.
    Clock(ControllerId, ControllerId, PeerClock),
    /// A user begins a work.
    Work(usize),
    /// A user's request arrives at a controller.
    Ask(ControllerId, AskId, Body),
    /// A user waits no longer.
    AskTimeout(AskId),
    /// A user tries again.
    AskAgain(AskId),
    /// An answer arrives at a user.
    Reply(AskId, Reply),
    /// A node dials, with kantd of this start.
    Dial(usize, u64),
    /// A node waits no longer to be welcomed.
    WelcomeLimit(LinkId),
    /// A node's message arrives.
    Up(LinkId, Box<FromNode>),
    /// A message to a node arrives.
    Down(LinkId, Box<ToNode>),
    /// A controller learns that a connection is over.
    UpClosed(LinkId),
    /// A node learns that a connection is over, or does not come about.
    DownClosed(LinkId),
    /// Something happens to a step.
    Step(usize, AttemptId, StepChange),
    Kantd(usize),
    FaultBegins(usize),
    /// A fault is over.
    FaultEnds(usize),
    Operator,
    /// Connections are looked after, and judges look.
    Sample,
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

/// All that is to happen.
#[derive(Default)]
pub struct Agenda {
    entries: BinaryHeap<Reverse<Entry>>,
    number: u64,
}

impl Agenda {
    /// This is to happen then, in milliseconds.
    pub fn add(&mut self, at_ms: u64, event: Event) {
        self.number += 1;
        self.entries.push(Reverse(Entry { at_ms, number: self.number, event }));
    }

    /// What happens next, and when.
    pub fn pop(&mut self) -> Option<(u64, Event)> {
        self.entries.pop().map(|Reverse(entry)| (entry.at_ms, entry.event))
    }
}
