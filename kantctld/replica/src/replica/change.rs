//! Online changes of members: one change at a time, each an entry in the log. Several voters change
//! at once by joint consensus. A cluster always keeps a voter, and ids are not reused.
//!
//! Source: D. Ongaro and J. Ousterhout, "In search of an understandable consensus algorithm",
//! USENIX ATC 2014, section 6.

use super::Replica;
use crate::error::{ChangeRefusal, LogError, ProposeError};
use crate::machine::Machine;
use crate::members::{Member, Members};
use crate::pending::Callers;
use common::id::ControllerId;
use protobuf::Message as _;
use raft::StateRole;
use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2, Entry};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use wal::Disk;

/// A learner that lacks at most this many entries has caught up.
const CAUGHT_UP_ENTRIES: u64 = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Adds a learner, which gets a new id.
    Add(Member),
    /// Makes a learner a voter.
    Promote(ControllerId),
    /// Removes a member.
    Remove(ControllerId),
    /// Changes a member's address.
    Move { id: ControllerId, address: String },
}

/// What an entry says about members beyond the library's own data.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Note {
    Known(ControllerId, Member),
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// Changes members. [`crate::Completion::Changed`] follows once the change or, for several
    /// changes, the joint configuration is in force.
    pub fn change(&mut self, changes: &[Change], ticket: T) {
        if let Err(why) = self.try_change(changes, ticket) {
            let (ticket, why) = *why;
            self.outbox.refuse([ticket], &why);
        }
    }

    fn try_change(&mut self, changes: &[Change], ticket: T) -> Result<(), Box<(T, ProposeError)>> {
        if !self.leading {
            return Err(Box::new((ticket, ProposeError::NotLeader)));
        }
        if self.is_blocked() {
            return Err(Box::new((ticket, ProposeError::Busy)));
        }
        let proposed = self.check(changes).map_err(ProposeError::from).and_then(|()| {
            let (change, notes, given) = self.entry_of(changes);
            let context = rmp_serde::to_vec_named(&notes).map_err(|_| ProposeError::NotLeader)?;
            let sent = self.node.propose_conf_change(context, change);
            sent.map_err(|_| ProposeError::NotLeader).map(|()| given)
        });
        match proposed {
            Ok(given) => {
                let index = self.node.raft.raft_log.last_index();
                self.pending.push(index, self.node.raft.term, Callers::Change(ticket, given));
                Ok(())
            }
            Err(why) => Err(Box::new((ticket, why))),
        }
    }

    /// Checks changes against the configuration in force.
    fn check(&self, changes: &[Change]) -> Result<(), ChangeRefusal> {
        let members = self.members();
        if self.node.raft.has_pending_conf() || members.is_joint() {
            return Err(ChangeRefusal::UnderWay);
        }
        if changes.is_empty() {
            return Err(ChangeRefusal::Nothing);
        }
        let mut voters: BTreeSet<u64> = members.voters.iter().copied().collect();
        // Within one change the order counts: an address that a removal frees can be reused.
        let mut gone = BTreeSet::new();
        for change in changes {
            match change {
                Change::Add(member) => check_address(members, &gone, &member.address)?,
                Change::Move { id, address } => {
                    check_known(members, *id)?;
                    check_address(members, &gone, address)?;
                }
                Change::Promote(id) => {
                    check_known(members, *id)?;
                    if members.votes(*id) {
                        return Err(ChangeRefusal::Votes(*id));
                    }
                    self.check_caught_up(*id)?;
                    voters.insert(id.0);
                }
                Change::Remove(id) => {
                    check_known(members, *id)?;
                    voters.remove(&id.0);
                    if voters.is_empty() {
                        return Err(ChangeRefusal::LastVoter(*id));
                    }
                    if id.0 == self.node.raft.id {
                        return Err(ChangeRefusal::Leads(*id));
                    }
                    gone.insert(*id);
                }
            }
        }
        Ok(())
    }

    fn check_caught_up(&self, id: ControllerId) -> Result<(), ChangeRefusal> {
        let holds = self.node.raft.prs().get(id.0).map_or(0, |progress| progress.matched);
        let behind = self.node.raft.raft_log.committed.saturating_sub(holds);
        // A learner that never answered has nothing, however short the log is.
        match holds == 0 || behind > CAUGHT_UP_ENTRIES {
            true => Err(ChangeRefusal::Behind { id, behind }),
            false => Ok(()),
        }
    }

    fn entry_of(&self, changes: &[Change]) -> (ConfChangeV2, Vec<Note>, Option<ControllerId>) {
        let members = self.members();
        let mut last = members.last;
        let (mut entry, mut notes, mut given) = (ConfChangeV2::default(), Vec::new(), None);
        let mut add = |kind: ConfChangeType, id: ControllerId| {
            let mut single = ConfChangeSingle { node_id: id.0, ..ConfChangeSingle::default() };
            single.set_change_type(kind);
            entry.changes.push(single);
        };
        for change in changes {
            match change {
                Change::Add(member) => {
                    last.0 += 1;
                    given = Some(last);
                    add(ConfChangeType::AddLearnerNode, last);
                    notes.push(Note::Known(last, member.clone()));
                }
                Change::Promote(id) => add(ConfChangeType::AddNode, *id),
                Change::Remove(id) => add(ConfChangeType::RemoveNode, *id),
                Change::Move { id, address } => {
                    // Repeats the current role, so that the library changes nothing.
                    let kind = match members.votes(*id) {
                        true => ConfChangeType::AddNode,
                        false => ConfChangeType::AddLearnerNode,
                    };
                    add(kind, *id);
                    let member = members.known.get(id).cloned().unwrap_or_default();
                    notes.push(Note::Known(*id, Member { address: address.clone(), ..member }));
                }
            }
        }
        (entry, notes, given)
    }

    /// Puts an entry's change in force. If the library refuses it, it changes nothing on any
    /// replica, because the library looks only at the members, which are the same everywhere.
    pub(super) fn apply_change(&mut self, entry: &Entry) -> Result<(), LogError> {
        let unreadable = |reason: String| LogError::Apply { index: entry.index, reason };
        let change = ConfChangeV2::parse_from_bytes(&entry.data)
            .map_err(|error| unreadable(error.to_string()))?;
        let notes: Vec<Note> = match entry.context.is_empty() {
            true => Vec::new(),
            false => rmp_serde::from_slice(&entry.context)
                .map_err(|error| unreadable(error.to_string()))?,
        };
        match self.node.apply_conf_change(&change) {
            Ok(conf) => {
                let members = &mut self.node.mut_store().members;
                for Note::Known(id, member) in notes {
                    members.last = members.last.max(id);
                    members.known.insert(id, member);
                }
                members.set_conf_state(conf);
                tracing::info!("controllers {:?} vote now", members.voters);
                self.step_down_if_removed();
            }
            Err(error) => tracing::warn!("a change of controllers failed: {error}"),
        }
        Ok(())
    }

    /// Steps down a leader that applied its own removal. A leader does not propose that, but its
    /// predecessor may have. The library would continue to lead, and panic.
    fn step_down_if_removed(&mut self) {
        let raft = &mut self.node.raft;
        if raft.state == StateRole::Leader && !raft.promotable() {
            tracing::info!("this controller no longer votes: another one will be elected");
            raft.become_follower(raft.term, raft::INVALID_ID);
        }
    }

    /// Promotes a learner that is to become a voter, once it has caught up.
    pub(super) fn promote_caught_up(&mut self) {
        let idle = self.leading && !self.is_blocked() && !self.node.raft.has_pending_conf();
        if !idle || self.node.raft.state != StateRole::Leader || self.members().is_joint() {
            return;
        }
        let is_ready = |id: &ControllerId| {
            let progress = self.node.raft.prs().get(id.0);
            progress.is_some_and(|p| p.recent_active) && self.check_caught_up(*id).is_ok()
        };
        let members = self.members();
        let learners =
            members.known.iter().filter(|(id, m)| m.becomes_voter && members.learns(**id));
        let next = learners.map(|(id, _)| *id).find(is_ready);
        if let Some(id) = next {
            let (change, _, _) = self.entry_of(&[Change::Promote(id)]);
            if let Err(error) = self.node.propose_conf_change(Vec::new(), change) {
                tracing::debug!("controller {id} has caught up, but promoting it failed: {error}");
            }
        }
    }
}

fn check_known(members: &Members, id: ControllerId) -> Result<(), ChangeRefusal> {
    if members.has(id) { Ok(()) } else { Err(ChangeRefusal::Unknown(id)) }
}

fn check_address(
    members: &Members,
    gone: &BTreeSet<ControllerId>,
    address: &str,
) -> Result<(), ChangeRefusal> {
    let mut stay = members.known.iter().filter(|(id, _)| !gone.contains(id));
    match stay.find(|(_, member)| member.address == address) {
        Some((id, _)) => Err(ChangeRefusal::AddressTaken { id: *id, address: address.to_owned() }),
        None => Ok(()),
    }
}
