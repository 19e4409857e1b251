//! The replica itself: what it holds, and what it may be told. Never does more than one thing at a
//! time; after whatever it was told, [`Replica::settle`] does what follows.

use crate::election::{ELECTION_TICKS, HEARTBEAT_TICKS};
use crate::error::{LogError, ProposeError};
use crate::letter::Letter;
use crate::log::logger;
use crate::machine::Machine;
use crate::open::Opening;
use crate::outbox::Outbox;
use crate::proof;
use crate::read::Reads;
use crate::ready::Stage;
use crate::saving::Turn;
use crate::storage::LogStore;
use crate::waiting::{Askers, Waiting};
use common::id::{ControllerId, LogIndex};
use raft::{Config, RawNode, SnapshotStatus, StateRole};
use wal::Disk;

/// How far a replica got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Nothing is left to do until it is told something.
    Done,
    /// Letters that need not wait for this disk are in the outbox: send them, and settle again at
    /// once. Until then it hears nothing.
    Sending,
    /// The disk is full: nothing was lost, nothing was acknowledged; settle again later. Until
    /// then it hears nothing.
    DiskFull(String),
}

/// What became of a letter. A lost one would never end the wait for a snapshot.
enum Report {
    Unreachable(u64),
    Snapshot(u64, SnapshotStatus),
}

/// One controller's part of the log. `T` is the ticket of somebody who asks.
pub struct Replica<M: Machine, D: Disk, T> {
    pub(crate) node: RawNode<LogStore<D>>,
    pub(crate) machine: M,
    pub(crate) seed: u64,
    pub(crate) snapshot_every: u64,
    pub(crate) snapshot_bytes_min: u64,
    /// Put off to this index after the disk was full.
    pub(crate) snapshot_not_before: u64,
    pub(crate) waiting: Waiting<T>,
    pub(crate) reads: Reads<T>,
    pub(crate) applied: u64,
    /// What the entries hold that were applied since the newest snapshot: a start replays them.
    pub(crate) unsaved_bytes: u64,
    /// As a leader: our term, and its first entry. Once applied, everything before is known.
    pub(crate) term_began: Option<(u64, u64)>,
    pub(crate) leading: bool,
    /// What a full disk holds up.
    pub(crate) stage: Option<Stage>,
    /// What became of letters, told while it heard nothing.
    reports: Vec<Report>,
    /// A change of members was applied, and is not known to be on the disk as decided.
    pub(crate) has_new_members: bool,
    pub(crate) turn: Turn<M, D>,
    pub(crate) outbox: Outbox<T, M::Answer>,
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// Opens the log and brings `machine` to where its newest snapshot is; entries after it are
    /// applied by [`Replica::settle`].
    ///
    /// # Errors
    /// [`LogError`] when the log cannot be read, is not there, or is another's.
    pub fn open(disk: D, opening: &Opening, mut machine: M) -> Result<Self, LogError> {
        let (store, found) = opening.open(disk)?;
        if !found.state.is_empty() {
            machine
                .restore(LogIndex(found.index), &found.state)
                .map_err(|reason| LogError::Apply { index: found.index, reason })?;
        }
        let config = Config {
            id: opening.id.0,
            election_tick: ELECTION_TICKS,
            heartbeat_tick: HEARTBEAT_TICKS,
            applied: found.index,
            max_size_per_msg: 1 << 20,
            max_inflight_msgs: 256,
            max_uncommitted_size: 256 << 20,
            max_committed_size_per_ready: 16 << 20,
            check_quorum: true,
            pre_vote: true,
            ..Config::default()
        };
        let mut replica = Self {
            node: RawNode::new(&config, store, &logger())?,
            machine,
            seed: opening.seed,
            snapshot_every: opening.snapshot_every.max(1),
            snapshot_bytes_min: opening.snapshot_bytes_min,
            snapshot_not_before: 0,
            waiting: Waiting::default(),
            reads: Reads::default(),
            applied: found.index,
            unsaved_bytes: 0,
            term_began: None,
            leading: false,
            stage: None,
            reports: Vec::new(),
            has_new_members: false,
            turn: Turn::Idle,
            outbox: Outbox::default(),
        };
        replica.campaign_if_alone()?;
        replica.set_patience();
        Ok(replica)
    }

    /// A moment has passed: a fixed one, of the shell's choice.
    pub fn tick(&mut self) {
        if !self.is_stuck() {
            self.node.tick();
            self.promote_who_caught_up();
            self.set_patience();
        }
    }

    /// A letter came from another replica. What does not read, or is stale, is as if lost.
    ///
    /// # Errors
    /// [`LogError::Lost`]: it proves that this log lacks what it must have; the process must end.
    pub fn step(&mut self, letter: &[u8]) -> Result<(), LogError> {
        if self.is_stuck() {
            return Ok(());
        }
        let message = match Letter::open(letter, self.node.raft.id) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!("dropped a letter of another controller: {error}");
                return Ok(());
            }
        };
        proof::check(&self.node.raft, &message)?;
        if let Err(error) = self.node.step(message) {
            tracing::debug!("dropped a letter: {error}");
        }
        self.set_patience();
        Ok(())
    }

    /// Puts requests into the log, together in one entry.
    pub fn propose(&mut self, batch: Vec<(M::Command, T)>) {
        let (commands, tickets): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        if self.is_stuck() {
            return self.outbox.refuse(tickets, &ProposeError::Busy);
        }
        if self.node.raft.state != StateRole::Leader {
            return self.outbox.refuse(tickets, &ProposeError::NotLeader);
        }
        let bytes = self.machine.pack(commands);
        match self.node.propose(Vec::new(), bytes) {
            Ok(()) => {
                let index = self.node.raft.raft_log.last_index();
                self.waiting.push(index, self.node.raft.term, Askers::Commands(tickets));
            }
            Err(raft::Error::ProposalDropped) if self.node.raft.lead_transferee.is_none() => {
                // More is on its way to the others than they took so far.
                self.outbox.refuse(tickets, &ProposeError::Busy);
            }
            Err(error) => {
                tracing::debug!("failed to propose: {error}");
                self.outbox.refuse(tickets, &ProposeError::NotLeader);
            }
        }
    }

    /// Hands the lead to another, or to the voter that lacks least. Whether it came to that, the
    /// status says later; false if there is nobody, or this one does not lead.
    pub fn transfer(&mut self, to: Option<ControllerId>) -> bool {
        let raft = &self.node.raft;
        if raft.state != StateRole::Leader || self.is_stuck() {
            return false;
        }
        let members = &self.node.store().members;
        let others = members.voters.iter().filter(|id| **id != raft.id);
        let live = others.filter_map(|id| raft.prs().get(*id).map(|p| (p.matched, *id, p)));
        let best = live.filter(|(_, _, p)| p.recent_active).map(|(holds, id, _)| (holds, id)).max();
        let to = match to {
            Some(to) if to.0 != raft.id && members.votes(to) => Some(to.0),
            Some(_) => None,
            None => best.map(|(_, id)| id),
        };
        if let Some(to) = to {
            self.node.transfer_leader(to);
        }
        to.is_some()
    }

    /// A letter could not be carried: its receiver is away.
    pub fn note_unreachable(&mut self, id: ControllerId) {
        self.report(Report::Unreachable(id.0));
    }

    /// A letter with a snapshot was carried, or could not be.
    pub fn note_snapshot_carried(&mut self, to: ControllerId, arrived: bool) {
        let fate = if arrived { SnapshotStatus::Finish } else { SnapshotStatus::Failure };
        self.report(Report::Snapshot(to.0, fate));
    }

    fn report(&mut self, report: Report) {
        self.reports.push(report);
        if !self.is_stuck() {
            self.take_reports();
        }
    }

    /// Hears what became of letters meanwhile. False: nothing.
    pub(crate) fn take_reports(&mut self) -> bool {
        let reports = std::mem::take(&mut self.reports);
        for report in &reports {
            match report {
                Report::Unreachable(id) => self.node.report_unreachable(*id),
                Report::Snapshot(id, fate) => self.node.report_snapshot(*id, *fate),
            }
        }
        !reports.is_empty()
    }

    /// Makes room for coming entries while there is nothing else to do.
    ///
    /// # Errors
    /// [`LogError::Store`].
    pub fn prepare(&mut self) -> Result<(), LogError> {
        match self.node.mut_store().wal.prepare() {
            // Appends will say so, if it still is so then.
            Ok(()) | Err(wal::Error::NoSpace { .. }) => Ok(()),
            Err(error) => Err(crate::StoreError::from(error).into()),
        }
    }

    /// Letters and answers since the last call.
    pub fn take_outbox(&mut self) -> Outbox<T, M::Answer> {
        std::mem::take(&mut self.outbox)
    }

    /// Tells everybody who still waits why there is no answer.
    pub fn refuse_all(&mut self, why: &ProposeError) {
        self.waiting.refuse_all(why, &mut self.outbox);
        self.reads.refuse_all(why, &mut self.outbox);
    }

    pub(crate) fn is_stuck(&self) -> bool {
        self.stage.is_some()
    }
}
