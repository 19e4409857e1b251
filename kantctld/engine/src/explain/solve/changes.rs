//! The changes that a search makes and undoes: the parts that look for a place, the jobs lifted,
//! and the looks and counts of nodes.

use super::item::Amounts;
use super::model::{Node, Owner};
use super::search::{Pending, Search, State};
use std::cmp::Reverse;
use std::collections::BTreeSet;

impl Search<'_, '_> {
    /// Lifts these jobs and puts a part there. Returns what to undo.
    pub(super) fn put(
        &mut self,
        owner: Owner,
        part: &Amounts,
        place: usize,
        lift: &[Owner],
    ) -> Vec<(usize, Node)> {
        let mut undo = Vec::new();
        for lifted in lift {
            let places: BTreeSet<usize> =
                self.model.jobs[*lifted].held.iter().map(|(place, _)| *place).collect();
            for from in places {
                let mut node = self.nodes[from].clone();
                self.lift_from(&mut node, from, *lifted);
                undo.push((from, self.set(from, node)));
            }
            self.lifted.push(*lifted);
            self.add_parts_pending(*lifted);
        }
        let mut node = self.nodes[place].clone();
        node.put(&self.model.jobs, owner, part);
        undo.push((place, self.set(place, node)));
        self.seats.entry(owner).or_default().push(place);
        undo
    }

    pub(super) fn take_back(&mut self, owner: Owner, lift: &[Owner], undo: Vec<(usize, Node)>) {
        if let Some(seats) = self.seats.get_mut(&owner) {
            seats.pop();
        }
        for (place, node) in undo.into_iter().rev() {
            self.set(place, node);
        }
        for lifted in lift.iter().rev() {
            self.lifted.pop();
            let of: Vec<Pending> =
                self.pending.iter().filter(|(_, _, owner, _)| owner == lifted).copied().collect();
            of.into_iter().for_each(|pending| self.remove_pending(pending));
        }
    }

    pub(super) fn add_parts_pending(&mut self, owner: Owner) {
        let job = &self.model.jobs[owner];
        for (number, part) in job.parts.each.iter().enumerate() {
            self.add_pending((Reverse(*part), job.kind, owner, number));
        }
    }

    pub(super) fn add_pending(&mut self, pending: Pending) {
        self.pending.insert(pending);
        self.count_pending(pending, 1);
    }

    pub(super) fn remove_pending(&mut self, pending: Pending) {
        self.pending.remove(&pending);
        self.count_pending(pending, -1);
    }

    fn count_pending(&mut self, (Reverse(part), _, owner, _): Pending, times: i64) {
        for (measure, _, needed, _) in &mut self.measures {
            if !measure.may_be_elsewhere(self.model, owner) {
                *needed += times * measure.pieces_in_part(&part);
            }
        }
    }

    /// Replaces a node. Returns what it was.
    fn set(&mut self, place: usize, node: Node) -> Node {
        let before = std::mem::replace(&mut self.nodes[place], node);
        for (measure, room, ..) in &mut self.measures {
            let after = measure.room(self.model, &self.nodes[place]);
            *room += after - measure.room(self.model, &before);
        }
        let (was, is) = (self.look_of[place], self.node_state_number(place));
        self.look_of[place] = is;
        if let Some(same) = self.by_look.get_mut(&was) {
            same.remove(&place);
            if same.is_empty() {
                self.by_look.remove(&was);
            }
        }
        self.by_look.entry(is).or_default().insert(place);
        let first = *self.changed.entry(place).or_insert(was);
        if first == is {
            self.changed.remove(&place);
        }
        before
    }

    /// The number of a node's look.
    pub(super) fn node_state_number(&mut self, place: usize) -> u32 {
        let node = &self.nodes[place];
        let present = node.present.iter().map(|owner| self.model.jobs[*owner].kind).collect();
        let placed = node.placed.iter().map(|(who, count)| (*who, *count)).collect();
        let look = (node.kind, node.free, node.fixed > 0, node.is_closed, present, placed);
        let next = u32::try_from(self.looks.len()).unwrap_or(u32::MAX);
        *self.looks.entry(look).or_insert(next)
    }

    pub(super) fn current_state(&self) -> State {
        let mut changed: Vec<(u32, u32)> =
            self.changed.iter().map(|(place, was)| (*was, self.look_of[*place])).collect();
        changed.sort_unstable();
        let who =
            |(_, kind, owner, number): &Pending| match self.model.jobs[*owner].parts.each.len() {
                1 => (*kind, 0),
                _ => (usize::MAX - *owner, *number),
            };
        let mut pending: Vec<(usize, usize)> = self.pending.iter().map(who).collect();
        pending.sort_unstable();
        (changed, pending)
    }
}
