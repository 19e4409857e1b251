//! Which nodes are in session, and how to reach them. Never talks to a node itself; the session
//! does, when it is nudged or asked.

use common::id::NodeName;
use common::wire::node::{OutputChunk, ReadOutput};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// What others want of a session.
pub enum Nudge {
    /// What the node should run may have changed: look and send the difference.
    Desired,
    /// Read a piece of output.
    Read(ReadOutput, oneshot::Sender<OutputChunk>),
    /// Another session of this node took over.
    Replaced,
}

/// Tells sessions of one node apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionId(u64);

/// How a node stands with this controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has no session.
    Absent,
    /// Its Hello is on its way into the state.
    Arriving,
    /// It has a session that the state knows of.
    InSession,
}

struct Seat {
    id: SessionId,
    /// Has the state taken its Hello? Before that it says nothing about the node.
    registered: bool,
    nudges: mpsc::UnboundedSender<Nudge>,
}

#[derive(Default)]
struct Seats {
    next_id: u64,
    by_node: BTreeMap<NodeName, Seat>,
}

/// All sessions.
#[derive(Default)]
pub struct Hub(Mutex<Seats>);

impl Hub {
    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A node's session begins; the one before it, if any, is told to end.
    pub fn join(&self, node: &NodeName) -> (SessionId, mpsc::UnboundedReceiver<Nudge>) {
        let (nudges, inbox) = mpsc::unbounded_channel();
        let mut seats = self.seats();
        seats.next_id += 1;
        let id = SessionId(seats.next_id);
        if let Some(old) =
            seats.by_node.insert(node.clone(), Seat { id, registered: false, nudges })
        {
            let _ = old.nudges.send(Nudge::Replaced);
        }
        (id, inbox)
    }

    /// A session ended. True if the node has no other: it is silent now.
    pub fn leave(&self, node: &NodeName, id: SessionId) -> bool {
        let mut seats = self.seats();
        let mine = seats.by_node.get(node).is_some_and(|seat| seat.id == id);
        if mine {
            seats.by_node.remove(node);
        }
        mine
    }

    /// Is this session still the node's?
    pub fn is_seated(&self, node: &NodeName, id: SessionId) -> bool {
        self.seats().by_node.get(node).is_some_and(|seat| seat.id == id)
    }

    /// The state has taken this session's Hello.
    pub fn note_registered(&self, node: &NodeName, id: SessionId) {
        if let Some(seat) = self.seats().by_node.get_mut(node).filter(|seat| seat.id == id) {
            seat.registered = true;
        }
    }

    /// How a node stands.
    pub fn standing(&self, node: &NodeName) -> Standing {
        match self.seats().by_node.get(node) {
            None => Standing::Absent,
            Some(seat) if seat.registered => Standing::InSession,
            Some(_) => Standing::Arriving,
        }
    }

    /// Makes the sessions of these nodes look again at what they should run.
    pub fn touch<'a>(&self, nodes: impl IntoIterator<Item = &'a NodeName>) {
        let seats = self.seats();
        for seat in nodes.into_iter().filter_map(|node| seats.by_node.get(node)) {
            let _ = seat.nudges.send(Nudge::Desired);
        }
    }

    /// Tells one node's session something.
    pub fn nudge(&self, node: &NodeName, nudge: Nudge) {
        if let Some(seat) = self.seats().by_node.get(node) {
            let _ = seat.nudges.send(nudge);
        }
    }

    /// Asks a node for a piece of output; `None` if it is not in session or went away.
    pub async fn read(&self, node: &NodeName, question: ReadOutput) -> Option<OutputChunk> {
        let (answer, answered) = oneshot::channel();
        {
            let seats = self.seats();
            let seat = seats.by_node.get(node)?;
            seat.nudges.send(Nudge::Read(question, answer)).ok()?;
        }
        answered.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> NodeName {
        NodeName::new(text).unwrap()
    }

    #[test]
    fn a_new_session_replaces_the_old_and_only_the_last_to_leave_silences_the_node() {
        let hub = Hub::default();
        let (first, mut inbox) = hub.join(&name("a"));
        let (second, _keep) = hub.join(&name("a"));
        assert!(matches!(inbox.try_recv(), Ok(Nudge::Replaced)));
        assert!(!hub.leave(&name("a"), first), "the second is still there");
        hub.note_registered(&name("a"), first);
        assert_eq!(hub.standing(&name("a")), Standing::Arriving, "the first speaks no more");
        hub.note_registered(&name("a"), second);
        assert_eq!(hub.standing(&name("a")), Standing::InSession);
        assert!(hub.leave(&name("a"), second));
        assert_eq!(hub.standing(&name("a")), Standing::Absent);
    }

    #[test]
    fn only_touched_nodes_are_nudged() {
        let hub = Hub::default();
        let (_, mut a) = hub.join(&name("a"));
        let (_, mut b) = hub.join(&name("b"));
        hub.touch(&[name("b"), name("gone")]);
        assert!(a.try_recv().is_err());
        assert!(matches!(b.try_recv(), Ok(Nudge::Desired)));
    }
}
