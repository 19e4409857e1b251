//! The order of a replica's effects: messages that need no sync, the disk, messages that promise
//! what is on the disk, applied entries, answers. A promise or answer follows the sync it rests on.

use super::{Replica, Settled};
use crate::error::{LogError, ProposeError, StoreError, decode_error};
use crate::machine::Machine;
use crate::peer_message::PeerMessage;
use crate::pending::Outcome;
use crate::snapshot_payload;
use common::id::LogIndex;
use raft::eraftpb::{Entry, EntryType, HardState, Message, Snapshot};
use raft::{LightReady, Ready, StateRole};
use wal::Disk;

/// The next step of a round with the library.
pub(super) enum Stage {
    Write(Box<Unwritten>),
    /// Note the commit index.
    Commit(LightReady),
}

pub(super) struct Unwritten {
    ready: Ready,
    /// Committed before; applied while messages are being sent.
    decided: Vec<Entry>,
    snapshot: Option<Snapshot>,
    entries: Vec<Entry>,
    hard: Option<HardState>,
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// Makes all progress that follows from the input so far.
    ///
    /// # Errors
    /// [`LogError`]: the process must end, and unacknowledged entries may be lost.
    pub fn process_ready(&mut self) -> Result<Settled, LogError> {
        loop {
            let next = match self.stage.take() {
                None if self.node.has_ready() => {
                    let unwritten = self.begin_ready()?;
                    if self.sends_before_sync(&unwritten.ready) {
                        self.stage = Some(Stage::Write(unwritten));
                        return Ok(Settled::Sending);
                    }
                    Ok(Some(Stage::Write(unwritten)))
                }
                None if self.take_reports() => continue,
                None => break,
                Some(Stage::Write(mut unwritten)) => {
                    self.apply(std::mem::take(&mut unwritten.decided))?;
                    match self.write(&mut unwritten) {
                        Ok(()) => Ok(Some(self.send_after_sync(unwritten.ready)?)),
                        Err(error) => Err((Stage::Write(unwritten), error)),
                    }
                }
                Some(Stage::Commit(light)) => match self.note_commit(&light) {
                    Ok(()) => {
                        self.apply_committed(light)?;
                        Ok(None)
                    }
                    Err(error) => Err((Stage::Commit(light), error)),
                },
            };
            match next {
                Ok(stage) => self.stage = stage,
                Err((stage, StoreError::Wal(error @ wal::Error::NoSpace { .. }))) => {
                    self.stage = Some(stage);
                    return Ok(Settled::DiskFull(error.to_string()));
                }
                Err((_, error)) => return Err(error.into()),
            }
        }
        self.sync_members()?;
        self.note_role();
        self.reads.answer(self.applied, &mut self.outbox);
        self.advance_snapshot()?;
        Ok(Settled::Done)
    }

    /// Syncs after a change of members. In general the commit index need not be durable, but after
    /// a restart without it this controller would ask the old voters, which may be gone for good.
    fn sync_members(&mut self) -> Result<(), LogError> {
        if std::mem::take(&mut self.has_new_members) {
            self.node.mut_store().sync()?;
        }
        Ok(())
    }

    fn begin_ready(&mut self) -> Result<Box<Unwritten>, LogError> {
        let mut ready = self.node.ready();
        self.send(ready.take_messages())?;
        self.reads.confirm(ready.take_read_states());
        let decided = ready.take_committed_entries();
        let snapshot = Some(ready.snapshot().clone()).filter(|snapshot| !snapshot.is_empty());
        let (entries, hard) = (ready.take_entries(), ready.hs().cloned());
        Ok(Box::new(Unwritten { ready, decided, snapshot, entries, hard }))
    }

    /// Whether a leader's messages can be sent before its own sync. It counts itself among those
    /// that have an entry only after that. Its term must be durable: a leader that forgot it could
    /// write other entries in the same term.
    ///
    /// Source: D. Ongaro, "Consensus: bridging theory and practice", 2014, section 10.2.1.
    fn sends_before_sync(&self, ready: &Ready) -> bool {
        let kept = &self.node.store().hard_state;
        let is_new_term =
            ready.hs().is_some_and(|hard| (hard.term, hard.vote) != (kept.term, kept.vote));
        // Nor are messages sent before a change of members is durable.
        let is_held_up = is_new_term || self.has_new_members;
        !self.outbox.messages.is_empty() && ready.must_sync() && !is_held_up
    }

    fn write(&mut self, unwritten: &mut Unwritten) -> Result<(), StoreError> {
        let store = self.node.mut_store();
        if let Some(snapshot) = &unwritten.snapshot {
            store.install_snapshot(snapshot)?;
            let index = snapshot.get_metadata().index;
            let (_, state) = snapshot_payload::split(&snapshot.data)?;
            self.machine
                .restore(LogIndex(index), state)
                .map_err(|reason| decode_error("a snapshot")(std::io::Error::other(reason)))?;
            (self.applied, self.unsaved_bytes) = (index, 0);
            self.comparison.note_restored(index);
            unwritten.snapshot = None;
        }
        let store = self.node.mut_store();
        if !unwritten.entries.is_empty() || unwritten.hard.is_some() {
            store.append(&unwritten.entries, unwritten.hard.as_ref())?;
        }
        if unwritten.ready.must_sync() {
            store.sync()?;
        }
        Ok(())
    }

    fn send_after_sync(&mut self, mut ready: Ready) -> Result<Stage, LogError> {
        self.send(ready.take_persisted_messages())?;
        Ok(Stage::Commit(self.node.advance(ready)))
    }

    fn note_commit(&mut self, light: &LightReady) -> Result<(), StoreError> {
        // Losing this is harmless: the commit index follows from a majority's entries.
        light.commit_index().map_or(Ok(()), |commit| self.node.mut_store().note_commit(commit))
    }

    fn apply_committed(&mut self, mut light: LightReady) -> Result<(), LogError> {
        self.send(light.take_messages())?;
        self.apply(light.take_committed_entries())?;
        self.node.advance_apply();
        Ok(())
    }

    fn send(&mut self, messages: Vec<Message>) -> Result<(), LogError> {
        for message in messages {
            let message = PeerMessage::encode(&message)
                .map_err(|error| LogError::Store(decode_error("a message")(error)))?;
            self.outbox.messages.push(message);
        }
        Ok(())
    }

    fn apply(&mut self, entries: Vec<Entry>) -> Result<(), LogError> {
        for entry in entries {
            let outcome = match entry.get_entry_type() {
                EntryType::EntryNormal if entry.data.is_empty() => Outcome::Answers(Vec::new()),
                EntryType::EntryNormal => {
                    let answers = self.machine.apply(LogIndex(entry.index), &entry.data);
                    let index = entry.index;
                    Outcome::Answers(answers.map_err(|reason| LogError::Apply { index, reason })?)
                }
                EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => {
                    self.apply_change(&entry)?;
                    self.has_new_members = true;
                    Outcome::Changed
                }
            };
            self.applied = entry.index;
            self.begin_sum(entry.index);
            self.unsaved_bytes += entry.data.len() as u64;
            self.pending.answer(entry.index, entry.term, outcome, &mut self.outbox);
        }
        Ok(())
    }

    /// Notifies the machine when this replica starts to lead, with everything committed before
    /// applied, and refuses pending requests when it no longer leads.
    fn note_role(&mut self) {
        let raft = &self.node.raft;
        let leads = raft.state == StateRole::Leader;
        match (leads, self.term_began) {
            (false, _) => self.term_began = None,
            (true, Some((term, _))) if term == raft.term => {}
            (true, _) => self.term_began = Some((raft.term, raft.raft_log.last_index())),
        }
        let leading = self.term_began.is_some_and(|(_, began)| self.applied >= began);
        if !leads {
            self.refuse_all(&ProposeError::Unknown);
        }
        if leading != self.leading {
            self.leading = leading;
            self.machine.set_leading(leading);
        }
        self.set_election_timeout();
    }
}
