//! Revocations of nodes and new cluster keys, as the operator of the simulated world makes them.

use super::World;
use super::event::Event;
use crate::faults::{Fault, Kind};
use crate::message::{Input, Ticket};
use common::id::{ControllerId, NodeName, Uid};
use common::time::Span;
use state::command::KeyAction;
use state::invitation::Admits;
use state::{Actor, Command};
use std::collections::BTreeSet;

const OPERATOR: Actor = Actor { uid: Uid(0), operator: true };
/// How long a node is without kantd when it joins again, in milliseconds.
const REJOIN_MS: u64 = 500;

impl World {
    pub(super) fn change_trust(&mut self, fault: Fault) {
        let Some((leader, _)) = self.leader() else { return };
        let command = match fault.kind {
            Kind::Revoke => {
                let place = self.node_of(fault);
                let node = &mut self.nodes[place];
                node.revoked_until_ms = self.now_ms + fault.lasts_ms;
                Command::RevokeNode { actor: OPERATOR, name: node.name.clone() }
            }
            _ => {
                let new = format!("authority {}", fault.salt);
                Command::RotateKey(KeyAction::Begin { actor: OPERATOR, new, followed: 0 })
            }
        };
        self.propose(leader, command);
    }

    /// Invites nodes whose certificates were revoked, and lets them join.
    pub(super) fn let_join_again(&mut self, leader: ControllerId) {
        let Some(process) = self.hosts.get(&leader).and_then(|host| host.process.as_ref()) else {
            return;
        };
        let state = &process.replica().machine().state;
        let is_due = |name: &NodeName| {
            let node = self.nodes.iter().find(|node| node.name == *name);
            node.is_some_and(|node| self.is_healed || node.revoked_until_ms <= self.now_ms)
        };
        let revoked = state.enrolments().filter(|(_, enrolment)| enrolment.revoked.is_some());
        let mut commands = Vec::new();
        for (name, enrolment) in revoked.filter(|(name, _)| is_due(name)) {
            let hash = format!("{name} after {}", enrolment.number);
            let (name, lasts) = (name.clone(), Span::from_minutes(60));
            commands.push(match state.invitation(&hash).is_some() {
                true => Command::EnrolNode { key: hash.clone(), hash, name },
                false => {
                    let admits = Admits::Nodes(BTreeSet::from([name]));
                    Command::Invite { actor: OPERATOR, hash, lasts, admits }
                }
            });
        }
        commands.into_iter().for_each(|command| self.propose(leader, command));
    }

    fn propose(&mut self, leader: ControllerId, command: Command) {
        self.input(leader, Input::Propose(Box::new(command), Ticket::Unused));
    }

    /// Passes new events of the log to the judge, and lets nodes join that were enrolled.
    pub(super) fn note_trust(&mut self, fresh: &[state::Event]) {
        for event in fresh {
            let held = self.nodes.iter().map(|node| (&node.name, node.key_generation));
            self.trust_judge.read(self.now_ms, event, held);
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
        (node.enrolment, node.key_generation) = (number, generation);
        node.kill_kantd();
        self.break_link_of_node(place, false);
        self.agenda.add(self.now_ms + REJOIN_MS, Event::Kantd(place));
    }
}
