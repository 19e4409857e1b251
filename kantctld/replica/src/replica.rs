//! The replica: its state and its inputs. After any input, [`Replica::process_ready`] makes the
//! progress that follows from it.

mod change;
mod comparison;
mod election;
mod read_index;
mod ready;
mod snapshot_task;
mod status;

pub use change::Change;
pub use comparison::{SumOutcome, SumTask};
pub use snapshot_task::{SnapshotOutcome, SnapshotTask};
pub use status::{Follower, Role, Status};

use crate::error::{LogError, ProposeError, StoreError};
use crate::level_check;
use crate::log::logger;
use crate::loss_check;
use crate::machine::Machine;
use crate::open::ReplicaConfig;
use crate::outbox::Outbox;
use crate::peer_message::PeerMessage;
use crate::pending::{Callers, PendingEntries};
use crate::storage::LogStore;
use common::id::{ControllerId, LogIndex};
use comparison::Comparison;
use election::{ELECTION_TICKS, HEARTBEAT_TICKS};
use raft::{Config, RawNode, SnapshotStatus, StateRole};
use read_index::Reads;
use ready::Stage;
use snapshot_task::SnapshotStage;
use wal::Disk;

/// How far [`Replica::process_ready`] got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Nothing is left to do until the next input.
    Done,
    /// The outbox has messages that need not wait for this disk: send them, and settle again at
    /// once. Other input is ignored until then.
    Sending,
    /// The disk is full; nothing was lost or acknowledged. Settle again later. Other input is
    /// ignored until then.
    DiskFull(String),
}

/// The outcome of a message. Without a report of a lost snapshot, the library waits for ever.
enum Report {
    Unreachable(u64),
    Snapshot(u64, SnapshotStatus),
}

/// One controller's part of the log. `T` identifies a caller.
pub struct Replica<M: Machine, D: Disk, T> {
    node: RawNode<LogStore<D>>,
    machine: M,
    seed: u64,
    snapshot_every: u64,
    snapshot_bytes_min: u64,
    /// Postponed to this index because the disk was full.
    snapshot_not_before: u64,
    pending: PendingEntries<T>,
    reads: Reads<T>,
    applied: u64,
    /// The size of the entries applied since the newest snapshot, which a start replays.
    unsaved_bytes: u64,
    /// As leader: the term and its first entry. Once that is applied, everything before is known.
    term_began: Option<(u64, u64)>,
    leading: bool,
    /// The step that a full disk blocks.
    stage: Option<Stage>,
    /// Reports received while blocked.
    reports: Vec<Report>,
    /// A change of members was applied, and its commit may not be durable.
    has_new_members: bool,
    snapshot_stage: SnapshotStage<M, D>,
    comparison: Comparison<M>,
    outbox: Outbox<T, M::Answer>,
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// Opens the log and restores `machine` from its newest snapshot. Later entries are applied by
    /// [`Replica::process_ready`].
    ///
    /// # Errors
    /// [`LogError`] if the log cannot be read, is missing, or belongs to another controller.
    pub fn open(disk: D, replica_config: &ReplicaConfig, mut machine: M) -> Result<Self, LogError> {
        let (store, found) = replica_config.open(disk)?;
        if !found.state.is_empty() {
            machine
                .check_snapshot_level(&found.state)
                .map_err(|source| LogError::UnknownLevel { index: found.index, source })?;
            machine
                .restore(LogIndex(found.index), &found.state)
                .map_err(|reason| LogError::Apply { index: found.index, reason })?;
        }
        level_check::check_log(&machine, &store)?;
        let config = Config {
            id: replica_config.id.0,
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
            seed: replica_config.seed,
            snapshot_every: replica_config.snapshot_every.max(1),
            snapshot_bytes_min: replica_config.snapshot_bytes_min,
            snapshot_not_before: 0,
            pending: PendingEntries::default(),
            reads: Reads::default(),
            applied: found.index,
            unsaved_bytes: 0,
            term_began: None,
            leading: false,
            stage: None,
            reports: Vec::new(),
            has_new_members: false,
            snapshot_stage: SnapshotStage::Idle,
            comparison: Comparison::new(replica_config.compare_every),
            outbox: Outbox::default(),
        };
        replica.campaign_if_alone()?;
        replica.set_election_timeout();
        Ok(replica)
    }

    /// Advances the logical clock by one tick, of a fixed length that the caller chooses.
    ///
    /// # Errors
    /// [`LogError::Differs`]: this replica must end.
    pub fn tick(&mut self) -> Result<(), LogError> {
        if !self.is_blocked() {
            self.node.tick();
            self.promote_caught_up();
            self.set_election_timeout();
            self.compare()?;
        }
        Ok(())
    }

    /// Receives a message from another replica. Invalid and stale messages are dropped.
    ///
    /// # Errors
    /// [`LogError::Lost`] if it proves that a part of this log is lost, and
    /// [`LogError::UnknownLevel`] if a newer release wrote it; the process must end.
    pub fn step(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        if self.is_blocked() {
            return Ok(());
        }
        let message = match PeerMessage::decode(bytes, self.node.raft.id) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!("dropped a message of another controller: {error}");
                return Ok(());
            }
        };
        loss_check::check(&self.node.raft, &message)?;
        // The library ignores what an earlier leader sends.
        if message.term >= self.node.raft.term {
            level_check::check_message(&self.machine, &message)?;
        }
        if let Err(error) = self.node.step(message) {
            tracing::debug!("dropped a message: {error}");
        }
        self.set_election_timeout();
        Ok(())
    }

    /// Proposes commands, together in one entry.
    pub fn propose(&mut self, batch: Vec<(M::Command, T)>) {
        let (mut commands, mut tickets) = (Vec::new(), Vec::new());
        for (command, ticket) in batch {
            match self.machine.check_command(&command) {
                Ok(()) => {
                    commands.push(command);
                    tickets.push(ticket);
                }
                Err(too_early) => self.outbox.refuse(vec![ticket], &too_early.into()),
            }
        }
        if self.is_blocked() {
            return self.outbox.refuse(tickets, &ProposeError::Busy);
        }
        if self.node.raft.state != StateRole::Leader {
            return self.outbox.refuse(tickets, &ProposeError::NotLeader);
        }
        if commands.is_empty() {
            return;
        }
        let bytes = self.machine.pack(commands);
        match self.node.propose(Vec::new(), bytes) {
            Ok(()) => {
                let index = self.node.raft.raft_log.last_index();
                self.pending.push(index, self.node.raft.term, Callers::Commands(tickets));
            }
            Err(raft::Error::ProposalDropped) if self.node.raft.lead_transferee.is_none() => {
                // The library's limit on uncommitted entries is reached.
                self.outbox.refuse(tickets, &ProposeError::Busy);
            }
            Err(error) => {
                tracing::debug!("failed to propose: {error}");
                self.outbox.refuse(tickets, &ProposeError::NotLeader);
            }
        }
    }

    /// Starts a transfer of leadership to a member, or to the most up-to-date voter. The status
    /// shows the outcome; false if there is no target or this replica does not lead.
    pub fn transfer(&mut self, to: Option<ControllerId>) -> bool {
        let raft = &self.node.raft;
        if raft.state != StateRole::Leader || self.is_blocked() {
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

    /// Reports that a message could not be sent.
    pub fn note_unreachable(&mut self, id: ControllerId) {
        self.queue_report(Report::Unreachable(id.0));
    }

    /// Reports whether a message with a snapshot arrived.
    pub fn note_snapshot_carried(&mut self, to: ControllerId, arrived: bool) {
        let fate = if arrived { SnapshotStatus::Finish } else { SnapshotStatus::Failure };
        self.queue_report(Report::Snapshot(to.0, fate));
    }

    fn queue_report(&mut self, report: Report) {
        self.reports.push(report);
        if !self.is_blocked() {
            self.take_reports();
        }
    }

    /// Passes reports to the library. False if there were none.
    fn take_reports(&mut self) -> bool {
        let reports = std::mem::take(&mut self.reports);
        for report in &reports {
            match report {
                Report::Unreachable(id) => self.node.report_unreachable(*id),
                Report::Snapshot(id, fate) => self.node.report_snapshot(*id, *fate),
            }
        }
        !reports.is_empty()
    }

    /// Prepares space for coming entries while idle.
    ///
    /// # Errors
    /// [`LogError::Store`].
    pub fn prepare_log_space(&mut self) -> Result<(), LogError> {
        match self.node.mut_store().wal.prepare_spare() {
            // Appending will fail if the disk is still full then.
            Ok(()) | Err(wal::Error::NoSpace { .. }) => Ok(()),
            Err(error) => Err(StoreError::from(error).into()),
        }
    }

    /// Takes the messages and answers since the last call.
    pub fn take_outbox(&mut self) -> Outbox<T, M::Answer> {
        std::mem::take(&mut self.outbox)
    }

    /// Refuses all pending requests.
    pub fn refuse_all(&mut self, why: &ProposeError) {
        self.pending.refuse_all(why, &mut self.outbox);
        self.reads.refuse_all(why, &mut self.outbox);
    }

    fn is_blocked(&self) -> bool {
        self.stage.is_some()
    }
}
