//! The leader's part in revocations, and in the replacement of the cluster key.

use super::Lead;
use crate::message::{LinkId, Output, Ticket};
use crate::mutants::Mutant;
use crate::requests::Requests;
use common::wire::node::{Hello, ToNode};
use state::command::KeyAction;
use state::{Command, Event, State};

impl Lead {
    /// Whether the certificate with which a node connected is valid.
    pub(super) fn has_valid_certificate(&self, hello: &Hello, state: &State) -> bool {
        // In place of the certificate.
        let number = hello.version.parse().unwrap_or(0);
        self.mutant == Some(Mutant::KeepRevoked)
            || state.check_certificate(&hello.name, number).is_ok()
    }

    /// Ends the sessions of nodes whose certificates became invalid, and sends nodes the new step
    /// of the cluster key.
    pub(super) fn trust_changed(
        &mut self,
        batch: &[Event],
        state: &State,
        requests: &mut Requests,
    ) {
        for event in batch {
            match event {
                Event::NodeRevoked { name, .. } | Event::NodeEnrolled { name, .. } => {
                    let Some(link) = self.table.channel(name).copied() else { continue };
                    let session = self.sessions.get(&link);
                    let hello = session.map(|session| &session.hello);
                    if hello.is_some_and(|hello| !self.has_valid_certificate(hello, state)) {
                        self.closed(link, requests);
                        requests.outputs.push(Output::Close(link));
                    }
                }
                Event::KeyStepBegun { .. } => {
                    let links: Vec<LinkId> = self.sessions.keys().copied().collect();
                    links.into_iter().for_each(|link| self.send_key(link, state, requests));
                }
                _ => {}
            }
        }
    }

    pub(super) fn send_key(&self, link: LinkId, state: &State, requests: &mut Requests) {
        let generation = state.key_status().generation;
        let session = self.sessions.get(&link);
        if generation > 0 && session.is_some_and(|session| session.live.is_some()) {
            let message = Box::new(ToNode::KeyGeneration { generation });
            requests.outputs.push(Output::Down(link, message));
        }
    }

    pub(super) fn renewed(&mut self, link: LinkId, generation: u32) {
        if let Some(session) = self.sessions.get(&link) {
            self.table.note_key_generation(&session.hello.name, session.id, generation);
        }
    }

    /// Begins the next step of a new cluster key once all nodes have followed.
    pub(super) fn advance_key(&self, state: &State, requests: &mut Requests) {
        let status = state.key_status();
        let generation = status.generation;
        let has_followed =
            |node| self.table.key_generation(node).is_some_and(|held| held >= generation);
        let is_out = |node| state.enrolment(node).is_some_and(|one| one.revoked.is_some());
        let enrolled = state.enrolments().map(|(name, _)| name);
        let mut nodes = enrolled.chain(state.nodes().map(|(name, _)| name));
        let all = self.mutant == Some(Mutant::HastyKey)
            || nodes.all(|node| is_out(node) || has_followed(node));
        if !status.is_settled() && all {
            let action = KeyAction::Advance { generation, actor: None };
            requests.commands.push((Command::RotateKey(action), Ticket::Unused));
        }
    }
}
