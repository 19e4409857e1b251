//! The thread itself: takes in what waits, ticks, lets the replica settle, hands out what came of
//! it. Never answers anybody itself while the replica can.

use super::aside::Aside;
use super::message::{Message, Ticket};
use super::stuck::Stuck;
use super::telling::Telling;
use super::{Driven, LogHandle, Post};
use replica::{LogError, Opening, ProposeError, Replica, Settled};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use wal::Disk;

/// Between two ticks of the replica's logical clock.
const TICK: Duration = Duration::from_millis(50);
/// The most requests in one entry.
const BATCH_COMMANDS_MAX: usize = 512;
/// An entry is closed once its requests weigh this much, in bytes.
const BATCH_BYTES: usize = 8 << 20;
/// The most letters taken in before the replica settles.
const BATCH_LETTERS_MAX: usize = 256;

/// The thread; joined, it gives the reason it ended.
pub type LogThread = JoinHandle<Result<(), LogError>>;

/// What a replica needs of the world.
pub struct Shell {
    pub post: Post,
    /// Called once, before any promise is given that rests on a log which another sent.
    pub began: Box<dyn FnOnce() -> Result<(), std::io::Error> + Send>,
}

impl Shell {
    /// For a controller without others.
    #[must_use]
    pub fn alone() -> Self {
        Self { post: Box::new(|_| false), began: Box::new(|| Ok(())) }
    }
}

/// Opens the log, brings `machine` to where it was, and starts the thread.
///
/// # Errors
/// [`LogError`] when the log cannot be read, is not there, or is another's.
pub fn start<M: Driven, D: Disk + Send + Sync + 'static>(
    disk: D,
    opening: &Opening,
    machine: M,
    shell: Shell,
) -> Result<(LogHandle<M>, LogThread), LogError> {
    let replica = Replica::open(disk, opening, machine)?;
    let (messages, inbox) = channel();
    let (status, status_seen) = watch::channel(replica.status());
    let stopping = Arc::new(AtomicBool::new(false));
    let mut thread = Thread {
        aside: Aside::default(),
        replica,
        inbox,
        stopping: stopping.clone(),
        post: shell.post,
        began: Some(shell.began),
        telling: Telling::new(status),
        stuck: Stuck::default(),
        next_tick: Instant::now() + TICK,
    };
    let spawn = std::thread::Builder::new().name("log".to_owned());
    let handle = spawn.spawn(move || thread.run())?;
    Ok((LogHandle::new(messages, status_seen, stopping), handle))
}

pub(super) struct Thread<M: Driven, D: Disk> {
    /// Before the log in this list, so that it ends before the log is closed.
    aside: Aside,
    pub(super) replica: Replica<M, D, Ticket<M>>,
    pub(super) inbox: Receiver<Message<M>>,
    pub(super) stopping: Arc<AtomicBool>,
    post: Post,
    began: Option<Box<dyn FnOnce() -> Result<(), std::io::Error> + Send>>,
    pub(super) telling: Telling,
    pub(super) stuck: Stuck,
    next_tick: Instant,
}

impl<M: Driven, D: Disk + 'static> Thread<M, D> {
    fn run(&mut self) -> Result<(), LogError> {
        self.settle()?;
        loop {
            let stops = self.stopping.load(Ordering::SeqCst);
            let until_tick = self.next_tick.saturating_duration_since(Instant::now());
            let taken = self.take_in(if stops { Duration::ZERO } else { until_tick })?;
            if taken == 0 {
                self.replica.prepare()?;
            }
            let ticks = Instant::now() >= self.next_tick;
            if ticks {
                self.replica.tick();
                self.next_tick = Instant::now() + TICK;
            }
            if let Some(saved) = self.aside.take() {
                self.replica.note_saved(saved);
            }
            self.settle()?;
            if let Some(saving) = self.replica.take_saving() {
                self.aside.begin(saving)?;
            }
            self.telling.tell(&self.replica, ticks, self.stuck.is_told());
            if stops && taken == 0 {
                self.replica.refuse_all(&ProposeError::Stopped);
                self.hand_out();
                return Ok(());
            }
        }
    }

    /// Waits for a message, then takes what else is there: the group that shares one fsync. Gives
    /// how many of those who ask were taken in.
    fn take_in(&mut self, wait: Duration) -> Result<usize, LogError> {
        let mut batch = Batch { proposals: Vec::new(), reads: Vec::new(), bytes: 0, letters: 0 };
        let mut next = match self.inbox.recv_timeout(wait) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                // Nobody is left to ask anything.
                self.stopping.store(true, Ordering::SeqCst);
                None
            }
        };
        let mut taken = 0;
        while let Some(message) = next {
            taken += usize::from(!matches!(message, Message::Letter(..) | Message::Wake));
            self.take(message, &mut batch)?;
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

    fn take(&mut self, message: Message<M>, batch: &mut Batch<M>) -> Result<(), LogError> {
        match message {
            Message::Propose(command, ticket, place) => {
                drop(place);
                batch.bytes += M::weigh(&command);
                batch.proposals.push((command, ticket));
            }
            Message::Read(ticket, place) => {
                drop(place);
                batch.reads.push(ticket);
            }
            Message::Change(changes, ticket, place) => {
                drop(place);
                self.replica.change(&changes, ticket);
            }
            Message::Transfer(to, answer) => {
                // Whoever asked may have gone away.
                let _ = answer.send(self.replica.transfer(to));
            }
            Message::Letter(letter, place) => {
                drop(place);
                batch.letters += 1;
                self.replica.step(&letter)?;
            }
            Message::Unreachable(id) => self.replica.note_unreachable(id),
            Message::SnapshotCarried(to, arrived) => {
                self.replica.note_snapshot_carried(to, arrived);
            }
            Message::Wake => {}
        }
        Ok(())
    }

    /// Does all that can be done without another message; waits while the disk is full.
    fn settle(&mut self) -> Result<(), LogError> {
        loop {
            let settled = self.replica.settle()?;
            if self.replica.applied().0 > 0
                && let Some(began) = self.began.take()
            {
                began()?;
            }
            self.hand_out();
            match settled {
                Settled::Done => {
                    self.go_on();
                    return Ok(());
                }
                // They are on their way while this disk writes.
                Settled::Sending => {}
                Settled::DiskFull(_) if self.stopping.load(Ordering::SeqCst) => return Ok(()),
                Settled::DiskFull(why) => self.wait_for_room(&why),
            }
        }
    }

    pub(super) fn hand_out(&mut self) {
        let outbox = self.replica.take_outbox();
        for letter in outbox.letters {
            let (to, has_snapshot) = (letter.to, letter.has_snapshot);
            match (self.post)(letter) {
                true => {}
                false if has_snapshot => self.replica.note_snapshot_carried(to, false),
                false => self.replica.note_unreachable(to),
            }
        }
        for (ticket, told) in outbox.answers {
            // Whoever asked may have gone away.
            let _ = ticket.send(told);
        }
    }
}

struct Batch<M: Driven> {
    proposals: Vec<(M::Command, Ticket<M>)>,
    reads: Vec<Ticket<M>>,
    bytes: usize,
    letters: usize,
}

impl<M: Driven> Batch<M> {
    fn has_room(&self) -> bool {
        self.proposals.len() < BATCH_COMMANDS_MAX
            && self.bytes < BATCH_BYTES
            && self.letters < BATCH_LETTERS_MAX
    }
}
