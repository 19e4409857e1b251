//! Commands for the log and outputs that a simulated leader requests.

use crate::message::{LinkId, Output, Ticket};
use common::wire::node::ToNode;
use state::Command;

#[derive(Default)]
pub struct Wishes {
    pub commands: Vec<(Command, Ticket)>,
    pub outputs: Vec<Output>,
}

/// Refuses a node and closes its connection.
pub fn refuse(link: LinkId, reason: String, wishes: &mut Wishes) {
    wishes.outputs.push(Output::Down(link, Box::new(ToNode::Refused { reason })));
    wishes.outputs.push(Output::Close(link));
}
