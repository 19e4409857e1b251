//! Consequences of time: a node without a session is silent, and lost after a while; attempts that
//! do not start are given up; jobs end at their deadline, or when their lease expires; old jobs and
//! reservations are forgotten. Timers only propose commands, and `apply` judges by their stamp.

use crate::session_table::Presence;
use common::id::{JobKey, NodeName};
use common::node::Contact;
use common::time::{Span, Time};
use state::{Command, State};
use std::collections::BTreeMap;

pub const LOOK_PERIOD: Span = Span::from_seconds(1);
/// The time between two clean-ups of finished jobs, unless one leaves some.
pub const FORGET_EVERY: Span = Span::from_minutes(1);
/// How long a new leader waits before it looks for attempts that do not start: until its nodes have
/// connected, the state does not know what runs.
pub const OVERDUE_AFTER: Span = Span::from_minutes(1);
/// How long a session may last whose node is silent in the state: its start crossed the end of the
/// previous one, and the node must register again.
pub const CROSSED_AFTER: Span = Span::from_seconds(2);
/// The most time counted between two checks. A controller that was stopped for longer does not know
/// how long nodes were silent meanwhile.
pub const LOOK_GAP_MAX: Span = Span::from_seconds(10);

/// Time limits for nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// When a silent node is lost.
    pub node_lost_after: Span,
}

/// An action that is due.
#[derive(Debug, Clone, PartialEq)]
pub enum Due {
    Propose(Command),
    /// End this node's session, so that it registers again.
    EndSession(NodeName),
}

/// A silence of a node. A node may come back and be silent again between two checks, and then has
/// its full time again: it had contact meanwhile, on which the fence of its jobs is based.
#[derive(Debug, Clone, Copy)]
struct Silence {
    /// Its beginning in the state, which distinguishes it from other silences of the node.
    stamp: Time,
    /// When a check first saw it.
    seen_at: Span,
}

/// The timers of one term, by this controller's monotonic clock. Observations of an earlier term
/// say nothing about the time between, so each term starts with new timers, which grant every node
/// the full time.
#[derive(Debug, Clone)]
pub struct Watch {
    limits: Limits,
    /// The monotonic clock at the last check; `None` before the first.
    looked_at: Option<Span>,
    /// The time observed so far, on which the times below are based.
    watched: Span,
    forgot_at: Span,
    silent: BTreeMap<NodeName, Silence>,
    crossed: BTreeMap<NodeName, Span>,
    /// When the lease of each job was last renewed, or first seen.
    lease_renewed: BTreeMap<JobKey, Span>,
}

impl Watch {
    /// The timers of a term that starts now.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            looked_at: None,
            watched: Span(0),
            forgot_at: Span(0),
            silent: BTreeMap::new(),
            crossed: BTreeMap::new(),
            lease_renewed: BTreeMap::new(),
        }
    }

    /// Renews the leases of these jobs.
    pub fn renew_leases(&mut self, keys: impl IntoIterator<Item = JobKey>) {
        for key in keys {
            if let Some(at) = self.lease_renewed.get_mut(&key) {
                *at = self.watched;
            }
        }
    }

    /// Jobs whose lease was not renewed in time.
    fn leases_over(&mut self, state: &State) -> Vec<Due> {
        let known = std::mem::take(&mut self.lease_renewed);
        let mut due = Vec::new();
        for (key, lease) in state::leased(state) {
            let since = known.get(&key).copied().unwrap_or(self.watched);
            self.lease_renewed.insert(key, since);
            if self.has_passed(since, lease) {
                due.push(Due::Propose(Command::LeaseOver { key }));
            }
        }
        due
    }

    /// Everything that is due; to be called about every [`LOOK_PERIOD`]. `now` is the time for
    /// stamps, `uptime` a monotonic clock. An action that failed is due again at the next check.
    pub fn due_actions(
        &mut self,
        state: &State,
        presence: impl Fn(&NodeName) -> Presence,
        now: Time,
        uptime: Span,
    ) -> Vec<Due> {
        let last = self.looked_at.replace(uptime).unwrap_or(uptime);
        self.watched = self.watched + Span(uptime.0.saturating_sub(last.0)).min(LOOK_GAP_MAX);
        let mut due = self.contact_changes(state, presence);
        let missed = state::jobs_past_deadline(state, now).into_iter();
        due.extend(missed.map(|key| Due::Propose(Command::DeadlineOver { key })));
        due.extend(self.leases_over(state));
        if self.watched >= OVERDUE_AFTER {
            let overdue = state::overdue(state, now).into_iter();
            due.extend(overdue.map(|id| Due::Propose(Command::StartOverdue { id })));
        }
        if state.has_hopeless() {
            due.push(Due::Propose(Command::EndHopeless));
        }
        let (_, is_much) = state.jobs_to_forget(now);
        if is_much || self.has_passed(self.forgot_at, FORGET_EVERY) {
            self.forgot_at = self.watched;
            due.push(Due::Propose(Command::ForgetDone));
        }
        due
    }

    fn has_passed(&self, since: Span, limit: Span) -> bool {
        self.watched >= since + limit
    }

    /// Compares the contact of nodes in the state with their sessions.
    fn contact_changes(
        &mut self,
        state: &State,
        presence: impl Fn(&NodeName) -> Presence,
    ) -> Vec<Due> {
        let mut due = Vec::new();
        for (name, node) in state.nodes() {
            match (node.contact, presence(name)) {
                (Contact::Connected, Presence::Absent) => {
                    due.push(Due::Propose(Command::NodeSilent { name: name.clone() }));
                }
                (Contact::Silent { since: stamp }, Presence::Absent) => {
                    self.crossed.remove(name);
                    let seen = Silence { stamp, seen_at: self.watched };
                    let silence = self.silent.entry(name.clone()).or_insert(seen);
                    if silence.stamp != stamp {
                        *silence = seen;
                    }
                    let seen_at = silence.seen_at;
                    if self.has_passed(seen_at, self.limits.node_lost_after) {
                        due.push(Due::Propose(Command::NodeLost { name: name.clone() }));
                    }
                }
                (Contact::Silent { .. } | Contact::Lost { .. }, Presence::InSession) => {
                    self.silent.remove(name);
                    let since = *self.crossed.entry(name.clone()).or_insert(self.watched);
                    if self.has_passed(since, CROSSED_AFTER) {
                        self.crossed.remove(name);
                        due.push(Due::EndSession(name.clone()));
                    }
                }
                (Contact::Connected, _) | (_, Presence::Arriving | Presence::Absent) => {
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
