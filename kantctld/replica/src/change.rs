//! Changes of members, online: one at a time, each an entry in the log; several voters at once by
//! joint consensus. Never leaves a cluster without a voter, and never gives an id twice.
//!
//! Source: D. Ongaro and J. Ousterhout, "In search of an understandable consensus algorithm",
//! USENIX ATC 2014, section 6.

use crate::error::{LogError, ProposeError};
use crate::machine::Machine;
use crate::members::{Member, Members};
use crate::replica::Replica;
use crate::waiting::Askers;
use common::id::ControllerId;
use protobuf::Message as _;
use raft::StateRole;
use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2, Entry};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use wal::Disk;

/// A learner that lacks no more entries than this has caught up.
const CAUGHT_UP_ENTRIES: u64 = 64;

/// A change of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// One more, as a learner. It gets an id.
    Add(Member),
    /// A learner votes from now on.
    Promote(ControllerId),
    /// It has no part any more.
    Remove(ControllerId),
    /// It is reached by another address.
    Move { id: ControllerId, address: String },
}

/// Why members do not change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefusal {
    /// One at a time.
    #[error("another change of controllers is under way: wait until it is over, then try again")]
    UnderWay,
    #[error("there is no controller {0}: `kantctl admin controller status` lists them")]
    Unknown(ControllerId),
    #[error("controller {0} votes already")]
    Votes(ControllerId),
    /// Nobody would be left.
    #[error("without controller {0} nobody would be left to vote: add and promote another first")]
    LastVoter(ControllerId),
    /// The one who leads.
    #[error(
        "controller {0} leads: `kantctl admin controller transfer` hands the lead to another, then \
         it can be removed"
    )]
    Leads(ControllerId),
    /// It lacks too much.
    #[error("controller {id} lacks {behind} entries of the log: wait until it has caught up")]
    Behind { id: ControllerId, behind: u64 },
    #[error(
        "controller {id} is reached at {address} already: if that one is dead, `kantctl admin \
         controller remove {id}` first; else give this one another address (`listen`, or \
         `advertise`)"
    )]
    AddressTaken { id: ControllerId, address: String },
    /// It would take the place of one that needs no successor.
    #[error(
        "controller {0} lives, and is not replaced: stop it first, if it is that one whose log is \
         lost; else this state directory is a copy of its, and must be an empty one"
    )]
    Lives(ControllerId),
    /// No change was named.
    #[error("no change of controllers was named")]
    Nothing,
}

/// What an entry says of the members beside what the library reads of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Note {
    Known(ControllerId, Member),
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// Changes members. [`crate::Told::Changed`] comes once that is in force; with several changes,
    /// once the joint configuration is.
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
        if self.is_stuck() {
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
                self.waiting.push(index, self.node.raft.term, Askers::Change(ticket, given));
                Ok(())
            }
            Err(why) => Err(Box::new((ticket, why))),
        }
    }

    /// What a change comes to: judged by what is in force, not by what is under way.
    fn check(&self, changes: &[Change]) -> Result<(), ChangeRefusal> {
        let members = self.members();
        if self.node.raft.has_pending_conf() || members.is_joint() {
            return Err(ChangeRefusal::UnderWay);
        }
        if changes.is_empty() {
            return Err(ChangeRefusal::Nothing);
        }
        let mut voters: BTreeSet<u64> = members.voters.iter().copied().collect();
        // An address that one gives up is free for the next: of one change, the order counts.
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
        // Who never said a word holds nothing, however short the log is.
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
                    // Says again what it is, so that the library changes nothing.
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

    /// Takes an entry's change into force. One that the library does not take changes nothing, on
    /// any replica: it reads nothing but the members, and those are the same everywhere.
    pub(crate) fn apply_change(&mut self, entry: &Entry) -> Result<(), LogError> {
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
                self.give_way_if_out();
            }
            Err(error) => tracing::warn!("a change of controllers came to nothing: {error}"),
        }
        Ok(())
    }

    /// A leader is elected with its own removal in its log, undecided, and so decides it: no leader
    /// would propose that, but the one before did. The library goes on leading, and panics.
    fn give_way_if_out(&mut self) {
        let raft = &mut self.node.raft;
        if raft.state == StateRole::Leader && !raft.promotable() {
            tracing::info!("this controller votes no more: another is elected");
            raft.become_follower(raft.term, raft::INVALID_ID);
        }
    }

    /// Makes voters of learners that asked for it, once they have caught up.
    pub(crate) fn promote_who_caught_up(&mut self) {
        let idle = self.leading && !self.is_stuck() && !self.node.raft.has_pending_conf();
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
                tracing::debug!("controller {id} has caught up, and is no voter yet: {error}");
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
