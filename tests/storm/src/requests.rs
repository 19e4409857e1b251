//! Commands for the log and outputs that a simulated leader requests.

use crate::message::{LinkId, Output, Ticket};
use common::wire::node::ToNode;
use state::Command;

#[derive(Default)]
pub struct Requests {
    pub commands: Vec<(Command, Ticket)>,
    pub outputs: Vec<Output>,
    /// Answers that wait until a majority has confirmed that this controller leads.
    pub reads: Vec<Ticket>,
}

/// Refuses a node and closes its connection.
pub fn refuse(link: LinkId, reason: String, requests: &mut Requests) {
    requests.outputs.push(Output::Down(link, Box::new(ToNode::Refused { reason })));
    requests.outputs.push(Output::Close(link));
}
