//! Revocations of nodes and new cluster keys, as the operator of the simulated world makes them.

use super::World;
use super::event::Event;
use crate::faults::{Fault, Kind};
use crate::message::{Input, Ticket};
use crate::node::Node;
use common::id::{ControllerId, NodeName, Uid};
use common::time::{Span, Time};
use state::command::KeyAction;
use state::invitation::Admits;
use state::{Actor, Command, State};
use std::collections::BTreeSet;

const OPERATOR: Actor = Actor::operator(Uid(0));
/// How long a node that joins is without kantd, in milliseconds.
const JOIN_MS: u64 = 500;

impl World {
    /// Decides when a node joins: at this time, through the log, if certificates matter in this
    /// history. In others, nodes have certificates from the beginning.
    pub(super) fn begin_trust(&mut self, place: usize, at_ms: u64) {
        if self.plan.faults.iter().any(|fault| fault.kind.is_of_trust()) {
            let node = &mut self.nodes[place];
            (node.enrolment, node.joins_at_ms) = (0, at_ms);
        }
    }

    pub(super) fn change_trust(&mut self, fault: Fault) {
        let Some((leader, _)) = self.leader() else { return };
        let command = match fault.kind {
            Kind::Revoke => {
                let place = self.node_of(fault);
                let node = &mut self.nodes[place];
                node.joins_at_ms = self.now_ms + fault.lasts_ms;
                Command::RevokeNode { actor: OPERATOR, name: node.name.clone() }
            }
            _ => {
                let new = format!("authority {}", fault.salt);
                Command::RotateKey(KeyAction::Begin { actor: OPERATOR, new, followed: 0 })
            }
        };
        self.propose(leader, command);
    }

    /// Invites nodes without a valid certificate, and lets them join.
    pub(super) fn let_join(&mut self, leader: ControllerId) {
        let Some(process) = self.hosts.get(&leader).and_then(|host| host.process.as_ref()) else {
            return;
        };
        let state = &process.replica().machine().state;
        let is_out = |node: &&Node| match state.enrolment(&node.name) {
            None => node.enrolment == 0,
            Some(enrolment) => enrolment.revoked.is_some(),
        };
        let is_due = |node: &&Node| self.is_healed || node.joins_at_ms <= self.now_ms;
        let due = self.nodes.iter().filter(is_out).filter(is_due);
        let commands: Vec<Command> =
            due.map(|node| join_command(state, &node.name, self.now_ms)).collect();
        commands.into_iter().for_each(|command| self.propose(leader, command));
    }

    fn propose(&mut self, leader: ControllerId, command: Command) {
        self.input(leader, Input::Propose(Box::new(command), Ticket::Unused));
    }

    /// Passes new events of the log to the judge, and lets nodes join that were enrolled.
    pub(super) fn note_trust(&mut self, fresh: &[(Time, state::Event)]) {
        for (stamp, event) in fresh {
            let members = self.nodes.iter().filter(|node| node.enrolment > 0);
            let held = members.map(|node| (&node.name, node.key_generation));
            self.trust_judge.read((self.now_ms, *stamp), event, held);
            if let state::Event::NodeEnrolled { name, number, .. } = event {
                self.joined(name, *number);
            }
        }
        self.complaints.append(&mut self.trust_judge.complaints);
    }

    /// A node has a certificate of a new enrolment, and its kantd is started again.
    fn joined(&mut self, name: &NodeName, number: u32) {
        let generation = self.log.borrow().frontier.key_status().generation;
        let Some(place) = self.nodes.iter().position(|node| node.name == *name) else { return };
        let node = &mut self.nodes[place];
        // It asked twice, and the second answer is like the first.
        if node.enrolment == number {
            return;
        }
        (node.enrolment, node.key_generation) = (number, generation);
        node.kill_kantd();
        self.break_link_of_node(place, false);
        self.agenda.add(self.now_ms + JOIN_MS, Event::Kantd(place));
    }
}

/// The next command by which a node joins. Its invitation may have been withdrawn by a revocation
/// or by a new key; then it gets another one.
fn join_command(state: &State, name: &NodeName, now_ms: u64) -> Command {
    let admits = Admits::Nodes(BTreeSet::from([name.clone()]));
    let open = state.invitations().filter(|(hash, invitation)| {
        invitation.admits == admits && state.invitation(hash).is_some()
    });
    match open.min_by_key(|(_, invitation)| invitation.until) {
        Some((hash, _)) => {
            let (hash, key) = (hash.to_owned(), hash.to_owned());
            Command::EnrolNode { hash, key, name: name.clone() }
        }
        None => {
            let (hash, lasts) = (format!("{name} at {now_ms}"), Span::from_minutes(60));
            Command::Invite { actor: OPERATOR, hash, lasts, admits }
        }
    }
}
