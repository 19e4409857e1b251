//! What follows from time alone: a node without a session is silent, one silent for too long is
//! lost, an attempt that does not start is given up, a job ends at its deadline, one that nobody
//! waits for any more when its lease is over, old finished jobs and bookings are forgotten. Never
//! acts on a clock the log has not stamped: it only proposes, and `apply` judges by the stamp.

use crate::seats::Standing;
use common::id::{JobKey, NodeName};
use common::node::Contact;
use common::time::{Span, Time};
use state::{Command, State};
use std::collections::BTreeMap;

pub const LOOK_PERIOD: Span = Span::from_seconds(1);
/// Between two clean-ups of finished jobs, unless one leaves some over.
pub const FORGET_EVERY: Span = Span::from_minutes(1);
/// A new leader looks for attempts that do not start only after so long: until its nodes have said
/// hello, the state does not know what runs by now.
pub const OVERDUE_AFTER: Span = Span::from_minutes(1);
/// A session whose node the state calls silent is ended after this time: its end and its beginning
/// crossed, and it must say hello again.
pub const CROSSED_AFTER: Span = Span::from_seconds(2);
/// No more than this passes between two looks. A controller that was stopped for longer knows
/// nothing of how long a node was silent meanwhile.
pub const LOOK_GAP_MAX: Span = Span::from_seconds(10);

/// The bounds that time is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A node silent for so long is lost.
    pub node_lost_after: Span,
}

/// What is to be done now.
#[derive(Debug, Clone, PartialEq)]
pub enum Due {
    Propose(Command),
    /// End this node's session: it must say hello again.
    EndSession(NodeName),
}

/// One term's watch: since when things are as they are, by this controller's own monotonic clock.
/// What was seen in an earlier term says nothing about the time between, so a leader begins with a
/// new one, and each start grants every node the full time.
#[derive(Debug, Clone)]
pub struct Watch {
    limits: Limits,
    /// The monotonic clock at the last look; `None` before the first.
    looked_at: Option<Span>,
    /// How long this controller has watched; the times below are of this clock.
    watched: Span,
    forgot_at: Span,
    silent: BTreeMap<NodeName, Span>,
    crossed: BTreeMap<NodeName, Span>,
    /// When each job on a lease was last spoken for, or first seen.
    spoken_for: BTreeMap<JobKey, Span>,
}

impl Watch {
    /// The watch of a term that begins now.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            looked_at: None,
            watched: Span(0),
            forgot_at: Span(0),
            silent: BTreeMap::new(),
            crossed: BTreeMap::new(),
            spoken_for: BTreeMap::new(),
        }
    }

    /// Somebody waits for these jobs, and said so since the last look.
    pub fn speak_for(&mut self, keys: impl IntoIterator<Item = JobKey>) {
        for key in keys {
            if let Some(at) = self.spoken_for.get_mut(&key) {
                *at = self.watched;
            }
        }
    }

    /// Jobs for which nobody has spoken for as long as their lease is.
    fn leases_over(&mut self, state: &State) -> Vec<Due> {
        let known = std::mem::take(&mut self.spoken_for);
        let mut due = Vec::new();
        for (key, lease) in state::leased(state) {
            let since = known.get(&key).copied().unwrap_or(self.watched);
            self.spoken_for.insert(key, since);
            if self.has_passed(since, lease) {
                due.push(Due::Propose(Command::LeaseOver { key }));
            }
        }
        due
    }

    /// Everything that is due. To be called about every [`LOOK_PERIOD`]. `now` is the time that
    /// commands are stamped with, `uptime` a monotonic clock of any beginning. What was due and
    /// came to nothing is due again at the next look.
    pub fn look(
        &mut self,
        state: &State,
        standing: impl Fn(&NodeName) -> Standing,
        now: Time,
        uptime: Span,
    ) -> Vec<Due> {
        let last = self.looked_at.replace(uptime).unwrap_or(uptime);
        self.watched = self.watched + Span(uptime.0.saturating_sub(last.0)).min(LOOK_GAP_MAX);
        let mut due = self.contacts(state, standing);
        let missed = state::missed(state, now).into_iter();
        due.extend(missed.map(|key| Due::Propose(Command::DeadlineOver { key })));
        due.extend(self.leases_over(state));
        if self.watched >= OVERDUE_AFTER {
            let overdue = state::overdue(state, now).into_iter();
            due.extend(overdue.map(|id| Due::Propose(Command::StartOverdue { id })));
        }
        if state.has_hopeless() {
            due.push(Due::Propose(Command::EndHopeless));
        }
        let (_, is_much) = state.old(now);
        if is_much || self.has_passed(self.forgot_at, FORGET_EVERY) {
            self.forgot_at = self.watched;
            due.push(Due::Propose(Command::ForgetDone));
        }
        due
    }

    fn has_passed(&self, since: Span, limit: Span) -> bool {
        self.watched >= since + limit
    }

    /// What the state says of nodes against who is in session, and for how long.
    fn contacts(&mut self, state: &State, standing: impl Fn(&NodeName) -> Standing) -> Vec<Due> {
        let mut due = Vec::new();
        for (name, node) in state.nodes() {
            match (node.contact, standing(name)) {
                (Contact::Connected, Standing::Absent) => {
                    due.push(Due::Propose(Command::NodeSilent { name: name.clone() }));
                }
                (Contact::Silent { .. }, Standing::Absent) => {
                    self.crossed.remove(name);
                    let since = *self.silent.entry(name.clone()).or_insert(self.watched);
                    if self.has_passed(since, self.limits.node_lost_after) {
                        due.push(Due::Propose(Command::NodeLost { name: name.clone() }));
                    }
                }
                (Contact::Silent { .. } | Contact::Lost { .. }, Standing::InSession) => {
                    self.silent.remove(name);
                    let since = *self.crossed.entry(name.clone()).or_insert(self.watched);
                    if self.has_passed(since, CROSSED_AFTER) {
                        self.crossed.remove(name);
                        due.push(Due::EndSession(name.clone()));
                    }
                }
                (Contact::Connected, _) | (_, Standing::Arriving | Standing::Absent) => {
                    self.silent.remove(name);
                    self.crossed.remove(name);
                }
            }
        }
        due
    }
}

#[cfg(test)]
mod tests;
