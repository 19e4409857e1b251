//! Distribution of input to tasks: from this client, and from attached clients. It is read no
//! faster than it is forwarded.

use super::{INPUT_AHEAD_BYTES, StepClient};
use crate::step::frame::{ALL, Frame, Kind};
use common::wire::node::StepSpeech;

impl StepClient<'_> {
    /// Forwards a piece of input to the tasks that read this source.
    pub(super) fn forward_input(&mut self, source: usize, piece: Vec<u8>) {
        let Some(own) = self.readers.get_mut(source) else { return };
        let is_end = piece.is_empty();
        let readers = if is_end { std::mem::take(own) } else { own.clone() };
        if is_end {
            self.attached.set_readers(&self.readers);
        }
        let kind = if is_end { Kind::InputEnd } else { Kind::Input };
        if readers.len() == self.tasks.len() {
            return self.connections.send_all(&Frame::new(kind, ALL, piece));
        }
        for task in readers.iter().filter_map(|rank| self.tasks.get(*rank as usize)) {
            self.connections.send(task.node, &Frame::new(kind, task.local, piece.clone()));
        }
    }

    /// Whether more input of attached clients can be forwarded.
    pub(super) fn can_forward_input(&self) -> bool {
        self.connections.bytes_in_flight_max() < INPUT_AHEAD_BYTES
    }

    /// Forwards input of attached clients to the tasks whose input has not ended.
    pub(super) fn forward_attached_input(&self, speech: Vec<StepSpeech>) {
        let all = self.readers.iter().any(|ranks| ranks.len() == self.tasks.len());
        for StepSpeech { task, bytes, .. } in speech {
            if task.is_none() && all {
                self.connections.send_all(&Frame::new(Kind::Input, ALL, bytes.0));
                continue;
            }
            let readers =
                self.readers.iter().flatten().filter(|rank| task.is_none_or(|t| t == **rank));
            for task in readers.filter_map(|rank| self.tasks.get(*rank as usize)) {
                self.connections
                    .send(task.node, &Frame::new(Kind::Input, task.local, bytes.0.clone()));
            }
        }
    }
}
