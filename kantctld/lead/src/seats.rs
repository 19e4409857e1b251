//! Which nodes are in session, and what each is reached by. Never talks to a node: the line is
//! whoever's who holds the seats.

use common::id::NodeName;
use std::collections::BTreeMap;

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

#[derive(Debug)]
struct Seat<L> {
    id: SessionId,
    /// Has the state taken its Hello? Before that it says nothing about the node.
    registered: bool,
    line: L,
}

/// All sessions, each with its line: what its node is reached by.
#[derive(Debug)]
pub struct Seats<L> {
    next_id: u64,
    by_node: BTreeMap<NodeName, Seat<L>>,
}

impl<L> Default for Seats<L> {
    fn default() -> Self {
        Self { next_id: 0, by_node: BTreeMap::new() }
    }
}

impl<L> Seats<L> {
    /// A node's session begins. Answers the line of the one before it, if any: that is to end.
    pub fn join(&mut self, node: &NodeName, line: L) -> (SessionId, Option<L>) {
        self.next_id += 1;
        let id = SessionId(self.next_id);
        let old = self.by_node.insert(node.clone(), Seat { id, registered: false, line });
        (id, old.map(|seat| seat.line))
    }

    /// A session ended. True if the node has no other: it is silent now.
    pub fn leave(&mut self, node: &NodeName, id: SessionId) -> bool {
        let is_last = self.is_seated(node, id);
        if is_last {
            self.by_node.remove(node);
        }
        is_last
    }

    /// Is this session still the node's?
    #[must_use]
    pub fn is_seated(&self, node: &NodeName, id: SessionId) -> bool {
        self.by_node.get(node).is_some_and(|seat| seat.id == id)
    }

    /// The state has taken this session's Hello.
    pub fn note_registered(&mut self, node: &NodeName, id: SessionId) {
        if let Some(seat) = self.by_node.get_mut(node).filter(|seat| seat.id == id) {
            seat.registered = true;
        }
    }

    /// How a node stands.
    #[must_use]
    pub fn standing(&self, node: &NodeName) -> Standing {
        match self.by_node.get(node) {
            None => Standing::Absent,
            Some(seat) if seat.registered => Standing::InSession,
            Some(_) => Standing::Arriving,
        }
    }

    /// What a node is reached by, if it has a session.
    #[must_use]
    pub fn line(&self, node: &NodeName) -> Option<&L> {
        self.by_node.get(node).map(|seat| &seat.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_session_replaces_the_old_and_only_the_last_to_leave_silences_the_node() {
        let name = NodeName::new("a").unwrap();
        let mut seats = Seats::default();
        let (first, none) = seats.join(&name, "first line");
        let (second, replaced) = seats.join(&name, "second line");
        assert_eq!((none, replaced), (None, Some("first line")));
        assert!(!seats.leave(&name, first), "the second is still there");
        seats.note_registered(&name, first);
        assert_eq!(seats.standing(&name), Standing::Arriving, "the first speaks no more");
        seats.note_registered(&name, second);
        assert_eq!(seats.standing(&name), Standing::InSession);
        assert_eq!(seats.line(&name), Some(&"second line"));
        assert!(seats.leave(&name, second));
        assert_eq!((seats.standing(&name), seats.line(&name)), (Standing::Absent, None));
    }
}
