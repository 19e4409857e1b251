//! The nodes that have a session, each with a channel whose type the caller chooses.

use common::id::NodeName;
use std::collections::BTreeMap;

/// Distinguishes the sessions of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionId(u64);

/// Whether a node has a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Absent,
    /// Its Hello is being applied.
    Arriving,
    /// Its session is registered in the state.
    InSession,
}

#[derive(Debug)]
struct Session<L> {
    id: SessionId,
    /// Whether the state has applied its Hello. Before that the session says nothing about the
    /// node.
    registered: bool,
    /// The step of the replacements of the cluster key in which its certificate was issued.
    key_generation: u32,
    channel: L,
}

/// All sessions, each with the channel to its node.
#[derive(Debug)]
pub struct SessionTable<L> {
    next_id: u64,
    by_node: BTreeMap<NodeName, Session<L>>,
}

impl<L> Default for SessionTable<L> {
    fn default() -> Self {
        Self { next_id: 0, by_node: BTreeMap::new() }
    }
}

impl<L> SessionTable<L> {
    /// Adds a node's new session. Returns the channel of the one that it replaces and that is to
    /// end.
    pub fn join(&mut self, node: &NodeName, channel: L) -> (SessionId, Option<L>) {
        self.next_id += 1;
        let id = SessionId(self.next_id);
        let old = self
            .by_node
            .insert(node.clone(), Session { id, registered: false, key_generation: 0, channel });
        (id, old.map(|session| session.channel))
    }

    /// Removes a session. True if the node has no other session.
    pub fn leave(&mut self, node: &NodeName, id: SessionId) -> bool {
        let is_last = self.is_current(node, id);
        if is_last {
            self.by_node.remove(node);
        }
        is_last
    }

    /// Whether this session is the node's current one.
    #[must_use]
    pub fn is_current(&self, node: &NodeName, id: SessionId) -> bool {
        self.by_node.get(node).is_some_and(|session| session.id == id)
    }

    /// Notes that the state has applied this session's Hello.
    pub fn note_registered(&mut self, node: &NodeName, id: SessionId) {
        if let Some(session) = self.by_node.get_mut(node).filter(|session| session.id == id) {
            session.registered = true;
        }
    }

    /// Notes the step in which the node's certificate was issued.
    pub fn note_key_generation(&mut self, node: &NodeName, id: SessionId, generation: u32) {
        if let Some(session) = self.by_node.get_mut(node).filter(|session| session.id == id) {
            session.key_generation = generation;
        }
    }

    /// The step in which a node's certificate was issued, if it has a session.
    #[must_use]
    pub fn key_generation(&self, node: &NodeName) -> Option<u32> {
        self.by_node.get(node).map(|session| session.key_generation)
    }

    /// The channels to all nodes.
    pub fn channels(&self) -> impl Iterator<Item = &L> {
        self.by_node.values().map(|session| &session.channel)
    }

    /// Whether the node has a session.
    #[must_use]
    pub fn presence(&self, node: &NodeName) -> Presence {
        match self.by_node.get(node) {
            None => Presence::Absent,
            Some(session) if session.registered => Presence::InSession,
            Some(_) => Presence::Arriving,
        }
    }

    /// The channel to a node, if it has a session.
    #[must_use]
    pub fn channel(&self, node: &NodeName) -> Option<&L> {
        self.by_node.get(node).map(|session| &session.channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_session_replaces_the_old_one_and_only_the_last_to_leave_silences_the_node() {
        let name = NodeName::new("a").unwrap();
        let mut table = SessionTable::default();
        let (first, none) = table.join(&name, "first line");
        let (second, replaced) = table.join(&name, "second line");
        assert_eq!((none, replaced), (None, Some("first line")));
        assert!(!table.leave(&name, first), "the second is still there");
        table.note_registered(&name, first);
        assert_eq!(table.presence(&name), Presence::Arriving, "the first was replaced");
        table.note_registered(&name, second);
        assert_eq!(table.presence(&name), Presence::InSession);
        assert_eq!(table.channel(&name), Some(&"second line"));
        assert!(table.leave(&name, second));
        assert_eq!((table.presence(&name), table.channel(&name)), (Presence::Absent, None));
    }
}
