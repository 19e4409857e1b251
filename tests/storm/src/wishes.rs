//! What a simulated leader wants done: by its log, and by its connections. Never does it.

use crate::message::{LinkId, Output, Ticket};
use common::wire::node::ToNode;
use state::Command;

/// What a leader wants of its log and of its nodes.
#[derive(Default)]
pub struct Wishes {
    pub commands: Vec<(Command, Ticket)>,
    pub outputs: Vec<Output>,
}

/// A node is not welcome.
pub fn refuse(link: LinkId, reason: String, wishes: &mut Wishes) {
    wishes.outputs.push(Output::Down(link, Box::new(ToNode::Refused { reason })));
    wishes.outputs.push(Output::Close(link));
}
