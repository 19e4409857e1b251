//! The thread of the log: takes messages, ticks, lets the replica make progress, sends its output.

use super::background::Background;
use super::disk_full::DiskFull;
use super::message::{Message, Ticket};
use super::status_publisher::StatusPublisher;
use super::{LogHandle, ThreadMachine, Transport};
use replica::{
    LogError, ProposeError, Replica, ReplicaConfig, Settled, SnapshotOutcome, SumOutcome,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use wal::Disk;

/// The period of the replica's logical clock.
const TICK: Duration = Duration::from_millis(50);
/// The most requests in one entry.
const BATCH_COMMANDS_MAX: usize = 512;
/// An entry is closed once its requests have this size in bytes.
const BATCH_BYTES: usize = 8 << 20;
/// The most peer messages processed before the replica makes progress.
const BATCH_PEER_MESSAGES_MAX: usize = 256;

/// Joined, the thread returns why it ended.
pub type LogThread = JoinHandle<Result<(), LogError>>;

/// The callbacks of the log's thread.
pub struct Hooks {
    pub transport: Transport,
    /// Called once, before the first promise that rests on a log received from another member.
    pub began: Box<dyn FnOnce() -> Result<(), std::io::Error> + Send>,
}

impl Hooks {
    /// For a single controller.
    #[must_use]
    pub fn for_single_controller() -> Self {
        Self { transport: Box::new(|_| false), began: Box::new(|| Ok(())) }
    }
}

/// Opens the log, restores `machine` from it, and starts the thread.
///
/// # Errors
/// [`LogError`] if the log cannot be read, is missing, or belongs to another controller.
pub fn start<M: ThreadMachine, D: Disk + Send + Sync + 'static>(
    disk: D,
    replica_config: &ReplicaConfig,
    machine: M,
    hooks: Hooks,
) -> Result<(LogHandle<M>, LogThread), LogError> {
    let replica = Replica::open(disk, replica_config, machine)?;
    let (messages, inbox) = channel();
    let (status, status_seen) = watch::channel(replica.status());
    let stopping = Arc::new(AtomicBool::new(false));
    let mut thread = Thread {
        snapshot_thread: Background::default(),
        sum_thread: Background::default(),
        replica,
        inbox,
        stopping: stopping.clone(),
        transport: hooks.transport,
        began: Some(hooks.began),
        status_publisher: StatusPublisher::new(status),
        disk_full: DiskFull::default(),
        next_tick: Instant::now() + TICK,
    };
    let spawn = std::thread::Builder::new().name("log".to_owned());
    let handle = spawn.spawn(move || thread.run())?;
    Ok((LogHandle::new(messages, status_seen, stopping), handle))
}

pub(super) struct Thread<M: ThreadMachine, D: Disk> {
    snapshot_thread: Background<SnapshotOutcome>,
    sum_thread: Background<SumOutcome>,
    pub(super) replica: Replica<M, D, Ticket<M>>,
    pub(super) inbox: Receiver<Message<M>>,
    pub(super) stopping: Arc<AtomicBool>,
    transport: Transport,
    began: Option<Box<dyn FnOnce() -> Result<(), std::io::Error> + Send>>,
    pub(super) status_publisher: StatusPublisher,
    pub(super) disk_full: DiskFull,
    next_tick: Instant,
}

impl<M: ThreadMachine, D: Disk> Drop for Thread<M, D> {
    /// The next opener of the log must be alone with its files.
    fn drop(&mut self) {
        self.snapshot_thread.join();
    }
}

impl<M: ThreadMachine, D: Disk + 'static> Thread<M, D> {
    fn run(&mut self) -> Result<(), LogError> {
        self.make_progress()?;
        loop {
            let stops = self.stopping.load(Ordering::SeqCst);
            let until_tick = self.next_tick.saturating_duration_since(Instant::now());
            let taken = self.receive(if stops { Duration::ZERO } else { until_tick })?;
            if taken == 0 {
                self.replica.prepare_log_space()?;
            }
            let ticks = Instant::now() >= self.next_tick;
            if ticks {
                self.replica.tick()?;
                self.next_tick = Instant::now() + TICK;
            }
            if let Some(saved) = self.snapshot_thread.take() {
                self.replica.finish_snapshot(saved);
            }
            if let Some(computed) = self.sum_thread.take() {
                self.replica.record_checksum(computed);
            }
            self.make_progress()?;
            if let Some(saving) = self.replica.take_snapshot_task() {
                self.snapshot_thread.begin("snapshot", move || saving.run())?;
            }
            if let Some(summing) = self.replica.take_sum_task() {
                let begun = self.sum_thread.begin("checksum", move || summing.run());
                if let Err(error) = begun {
                    tracing::warn!("the states of the controllers are not compared: {error}");
                    self.replica.skip_sum();
                }
            }
            self.status_publisher.publish(&self.replica, ticks, self.disk_full.is_published());
            if stops && taken == 0 {
                self.replica.refuse_all(&ProposeError::Stopped);
                self.send_output();
                return Ok(());
            }
        }
    }

    /// Waits for a message, then takes all others that are queued: the group that shares one fsync.
    /// Returns the number of requests taken.
    fn receive(&mut self, wait: Duration) -> Result<usize, LogError> {
        let mut batch =
            Batch { proposals: Vec::new(), reads: Vec::new(), bytes: 0, peer_messages: 0 };
        let mut next = match self.inbox.recv_timeout(wait) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                // All handles are gone.
                self.stopping.store(true, Ordering::SeqCst);
                None
            }
        };
        let mut taken = 0;
        while let Some(message) = next {
            taken += usize::from(!matches!(message, Message::Peer(..) | Message::Wake));
            self.take_message(message, &mut batch)?;
            next = if batch.has_room() { self.inbox.try_recv().ok() } else { None };
        }
        if !batch.proposals.is_empty() {
            self.replica.propose(batch.proposals);
        }
        if !batch.reads.is_empty() {
            self.replica.read(batch.reads);
        }
        Ok(taken)
    }

    fn take_message(&mut self, message: Message<M>, batch: &mut Batch<M>) -> Result<(), LogError> {
        match message {
            Message::Propose(command, ticket, permit) => {
                drop(permit);
                batch.bytes += M::command_bytes(&command);
                batch.proposals.push((command, ticket));
            }
            Message::Read(ticket, permit) => {
                drop(permit);
                batch.reads.push(ticket);
            }
            Message::Change(changes, ticket, permit) => {
                drop(permit);
                self.replica.change(&changes, ticket);
            }
            Message::Transfer(to, answer) => {
                // The caller may be gone.
                let _ = answer.send(self.replica.transfer(to));
            }
            Message::Peer(message, permit) => {
                drop(permit);
                batch.peer_messages += 1;
                self.replica.step(&message)?;
            }
            Message::Unreachable(id) => self.replica.note_unreachable(id),
            Message::SnapshotCarried(to, arrived) => {
                self.replica.note_snapshot_carried(to, arrived);
            }
            Message::Sum(from, sum) => self.replica.note_sum(from, sum),
            Message::Wake => {}
        }
        Ok(())
    }

    /// Makes all progress possible without another message; waits while the disk is full.
    fn make_progress(&mut self) -> Result<(), LogError> {
        loop {
            let settled = self.replica.process_ready()?;
            if self.replica.applied().0 > 0
                && let Some(began) = self.began.take()
            {
                began()?;
            }
            self.send_output();
            match settled {
                Settled::Done => {
                    self.note_space();
                    return Ok(());
                }
                // Messages are sent while this disk writes.
                Settled::Sending => {}
                Settled::DiskFull(_) if self.stopping.load(Ordering::SeqCst) => return Ok(()),
                Settled::DiskFull(why) => self.wait_for_space(&why),
            }
        }
    }

    pub(super) fn send_output(&mut self) {
        let outbox = self.replica.take_outbox();
        for message in outbox.messages {
            let (to, has_snapshot) = (message.to, message.has_snapshot);
            match (self.transport)(message) {
                true => {}
                false if has_snapshot => self.replica.note_snapshot_carried(to, false),
                false => self.replica.note_unreachable(to),
            }
        }
        for (ticket, completion) in outbox.answers {
            // The caller may be gone.
            let _ = ticket.send(completion);
        }
    }
}

struct Batch<M: ThreadMachine> {
    proposals: Vec<(M::Command, Ticket<M>)>,
    reads: Vec<Ticket<M>>,
    bytes: usize,
    peer_messages: usize,
}

impl<M: ThreadMachine> Batch<M> {
    fn has_room(&self) -> bool {
        self.proposals.len() < BATCH_COMMANDS_MAX
            && self.bytes < BATCH_BYTES
            && self.peer_messages < BATCH_PEER_MESSAGES_MAX
    }
}
