//! The thread that owns the log: batches proposals, drives the consensus library, writes, applies,
//! answers. Never answers before the disk has synced.

use super::handle::{LogError, LogHandle, Message, Proposal, ProposeError};
use super::log::logger;
use super::members;
use super::storage::{LogStore, StoreError};
use super::waiting::{Answers, Waiting, refuse};
use super::{Machine, storage};
use common::id::LogIndex;
use raft::eraftpb::{Entry, EntryType};
use raft::{Config, RawNode, StateRole};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wal::{Disk, Options};

/// Between two ticks of the library's logical clock.
const TICK: Duration = Duration::from_millis(100);
/// Ticks without a leader before an election.
const ELECTION_TICKS: usize = 10;
/// The most requests in one entry.
const BATCH_COMMANDS_MAX: usize = 512;
/// An entry is closed once its requests weigh this much, in bytes.
const BATCH_BYTES: usize = 8 << 20;
/// The most requests that wait for the log; more are refused as busy.
const INBOX_MAX: usize = 2048;
/// Between two tries when the disk is full.
const NO_SPACE_PAUSE: Duration = Duration::from_secs(1);

/// The thread; joined, it gives the reason it ended.
pub type LogThread = JoinHandle<Result<(), LogError>>;

/// Opens the log of controller `id`, brings `machine` to where it was, and starts the thread.
/// A snapshot is taken every `snapshot_every` entries. The join handle gives the reason it ended.
///
/// # Errors
/// [`LogError`] when the log cannot be read.
pub fn start<M: Machine, D: Disk + Send + Sync + 'static>(
    disk: D,
    options: Options,
    id: u64,
    snapshot_every: u64,
    mut machine: M,
) -> Result<(LogHandle<M>, LogThread), LogError>
where
    LogStore<D>: Send,
{
    let (store, found) = storage::LogStore::open(disk, options, id)?;
    if !found.state.is_empty() {
        machine
            .restore(LogIndex(found.index), &found.state)
            .map_err(|reason| LogError::Apply { index: found.index, reason })?;
    }
    let config = Config {
        id,
        election_tick: ELECTION_TICKS,
        heartbeat_tick: 2,
        applied: found.index,
        max_size_per_msg: 1 << 20,
        max_inflight_msgs: 256,
        max_uncommitted_size: 256 << 20,
        max_committed_size_per_ready: 16 << 20,
        check_quorum: true,
        pre_vote: true,
        ..Config::default()
    };
    let node = RawNode::new(&config, store, &logger())?;
    let (messages, inbox) = sync_channel(INBOX_MAX);
    let stopping = Arc::new(AtomicBool::new(false));
    let mut thread = Thread {
        node,
        machine,
        inbox,
        stopping: stopping.clone(),
        snapshot_every: snapshot_every.max(1),
        snapshot_not_before: 0,
        waiting: Waiting::default(),
        applied: found.index,
        term_began_at: None,
        leading: false,
    };
    let spawn = std::thread::Builder::new().name("log".to_owned());
    let handle = spawn.spawn(move || thread.run())?;
    Ok((LogHandle { messages, stopping }, handle))
}

struct Thread<M: Machine, D: Disk> {
    node: RawNode<LogStore<D>>,
    machine: M,
    inbox: Receiver<Message<M>>,
    stopping: Arc<AtomicBool>,
    snapshot_every: u64,
    /// Put off to this index after the disk was full.
    snapshot_not_before: u64,
    waiting: Waiting<M>,
    applied: u64,
    /// The first index of our term as a leader: once applied, everything before is known.
    term_began_at: Option<u64>,
    leading: bool,
}

impl<M: Machine, D: Disk> Thread<M, D> {
    fn run(&mut self) -> Result<(), LogError> {
        self.campaign_if_alone()?;
        self.settle()?;
        let mut next_tick = Instant::now() + TICK;
        loop {
            let until_tick = next_tick.saturating_duration_since(Instant::now());
            let (batch, stop) = self.collect(until_tick);
            match batch.is_empty() {
                true => self.prepare()?,
                false => self.propose(batch),
            }
            if Instant::now() >= next_tick {
                self.node.tick();
                next_tick = Instant::now() + TICK;
            }
            self.settle()?;
            if stop {
                self.waiting.refuse_all(&ProposeError::Stopped);
                return Ok(());
            }
        }
    }

    /// Does all that can be done without another message.
    fn settle(&mut self) -> Result<(), LogError> {
        while self.node.has_ready() {
            self.process_ready()?;
        }
        self.note_role();
        self.maybe_snapshot()
    }

    /// A lone voter need not wait for an election time-out.
    fn campaign_if_alone(&mut self) -> Result<(), LogError> {
        let voters = self.node.raft.prs().conf().voters().ids().iter().collect::<Vec<u64>>();
        if voters == [self.node.raft.id] {
            self.node.campaign()?;
        }
        Ok(())
    }

    /// Waits for a message, then takes what else is there: the group that shares one fsync.
    fn collect(&mut self, wait: Duration) -> (Vec<Proposal<M>>, bool) {
        let stop = self.stopping.load(Ordering::SeqCst);
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let mut next = match self.inbox.recv_timeout(if stop { Duration::ZERO } else { wait }) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => return (batch, stop),
            Err(RecvTimeoutError::Disconnected) => return (batch, true),
        };
        while let Some(message) = next {
            match message {
                Message::Propose(proposal) => {
                    bytes += M::weigh(&proposal.command);
                    batch.push(proposal);
                }
                Message::Stop => {}
            }
            let room = batch.len() < BATCH_COMMANDS_MAX && bytes < BATCH_BYTES;
            next = if room { self.inbox.try_recv().ok() } else { None };
        }
        (batch, false)
    }

    fn propose(&mut self, batch: Vec<Proposal<M>>) {
        let (commands, answers): (Vec<_>, Answers<M>) =
            batch.into_iter().map(|p| (p.command, p.answer)).unzip();
        if self.node.raft.state != StateRole::Leader {
            return refuse(answers, &ProposeError::NotLeader);
        }
        let bytes = self.machine.pack(commands);
        match self.node.propose(Vec::new(), bytes) {
            Ok(()) => {
                let index = self.node.raft.raft_log.last_index();
                self.waiting.push(index, self.node.raft.term, answers);
            }
            Err(error) => {
                tracing::warn!("failed to propose: {error}");
                refuse(answers, &ProposeError::NotLeader);
            }
        }
    }

    /// The order of stack and paper: persist, sync, then apply what is committed, then tell.
    fn process_ready(&mut self) -> Result<(), LogError> {
        let mut ready = self.node.ready();
        self.apply(ready.take_committed_entries())?;
        let entries = ready.take_entries();
        if !entries.is_empty() || ready.hs().is_some() {
            let hard = ready.hs().cloned();
            self.retry_when_full(|store| store.append(&entries, hard.as_ref()))?;
            if ready.must_sync() {
                self.node.mut_store().sync()?;
            }
        }
        let mut light = self.node.advance(ready);
        if let Some(commit) = light.commit_index() {
            // Losing this loses nothing: a lone voter finds it again from its entries.
            self.retry_when_full(|store| store.note_commit(commit))?;
        }
        self.apply(light.take_committed_entries())?;
        self.node.advance_apply();
        Ok(())
    }

    /// Nothing to do: make room for what comes, so that no append waits for it.
    fn prepare(&mut self) -> Result<(), LogError> {
        match self.node.mut_store().prepare() {
            // Appends will say so, if it still is so then.
            Err(StoreError::Wal(wal::Error::NoSpace { .. })) => Ok(()),
            other => Ok(other?),
        }
    }

    /// A full disk stops the controller's writing, not the controller: it goes on once there is
    /// room, and nothing that was asked in between is lost or acknowledged.
    fn retry_when_full(
        &mut self,
        write: impl Fn(&mut LogStore<D>) -> Result<(), StoreError>,
    ) -> Result<(), LogError> {
        loop {
            match write(self.node.mut_store()) {
                Err(StoreError::Wal(error @ wal::Error::NoSpace { .. }))
                    if !self.stopping.load(Ordering::SeqCst) =>
                {
                    tracing::error!("{error}; every change waits until there is room");
                    std::thread::sleep(NO_SPACE_PAUSE);
                }
                other => return Ok(other?),
            }
        }
    }

    fn apply(&mut self, entries: Vec<Entry>) -> Result<(), LogError> {
        for entry in entries {
            let answers = match entry.get_entry_type() {
                EntryType::EntryNormal if entry.data.is_empty() => Vec::new(),
                EntryType::EntryNormal => self
                    .machine
                    .apply(LogIndex(entry.index), &entry.data)
                    .map_err(|reason| LogError::Apply { index: entry.index, reason })?,
                EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => {
                    members::change(&mut self.node, &entry)?;
                    Vec::new()
                }
            };
            self.applied = entry.index;
            self.waiting.answer(entry.index, entry.term, answers);
        }
        Ok(())
    }

    /// Tells the machine when we lead and know all that was decided before us.
    fn note_role(&mut self) {
        let leader = self.node.raft.state == StateRole::Leader;
        if !leader {
            self.term_began_at = None;
        } else if self.term_began_at.is_none() {
            self.term_began_at = Some(self.node.raft.raft_log.last_index());
        }
        let leading = self.term_began_at.is_some_and(|began| self.applied >= began);
        if leading != self.leading {
            self.leading = leading;
            self.machine.lead(leading);
        }
    }

    fn maybe_snapshot(&mut self) -> Result<(), LogError> {
        let due = self.node.store().snapshot_index() + self.snapshot_every;
        if self.applied < due.max(self.snapshot_not_before) {
            return Ok(());
        }
        let index = self.applied;
        let state = self.machine.save().map_err(|reason| LogError::Save { index, reason })?;
        match self.node.mut_store().save_snapshot(index, &state) {
            Ok(()) => tracing::debug!("saved a snapshot at log index {index}"),
            Err(StoreError::Wal(error @ wal::Error::NoSpace { .. })) => {
                tracing::error!("no snapshot, the log grows: {error}");
                self.snapshot_not_before = index + self.snapshot_every;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
