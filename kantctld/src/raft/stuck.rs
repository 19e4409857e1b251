//! While the disk is full. A lone controller keeps whoever asks waiting, and goes on once there is
//! room: nothing is lost, nothing acknowledged. One of several says that it does not lead, for
//! another will. Never acknowledges anything.

use super::message::Message;
use super::thread::Thread;
use super::{Driven, Machine};
use replica::ProposeError;
use std::time::{Duration, Instant};
use wal::Disk;

const PAUSE: Duration = Duration::from_secs(1);
/// The others elect another leader after about this time without a sign of life.
const PATIENCE: Duration = Duration::from_secs(1);

/// Since when, and who knows.
#[derive(Debug, Default)]
pub(super) struct Stuck {
    since: Option<Instant>,
    told: bool,
}

impl Stuck {
    /// Has everybody been told that this controller cannot lead?
    pub fn is_told(&self) -> bool {
        self.told
    }
}

impl<M: Driven, D: Disk + 'static> Thread<M, D> {
    /// Waits a while before the next try.
    pub(super) fn wait_for_room(&mut self, why: &str) {
        tracing::error!("{why}; every change waits until there is room");
        if self.replica.members().voters.len() <= 1 {
            return std::thread::sleep(PAUSE);
        }
        let since = *self.stuck.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= PATIENCE && !self.stuck.told {
            self.stuck.told = true;
            self.replica.machine_mut().lead(false);
            self.replica.refuse_all(&ProposeError::Unknown);
            self.hand_out();
            self.telling.tell(&self.replica, true, true);
        }
        let until = Instant::now() + PAUSE;
        while let Ok(message) = self.inbox.recv_timeout(until.duration_since(Instant::now())) {
            refuse(message);
        }
    }

    /// There is room again, or always was.
    pub(super) fn go_on(&mut self) {
        let stuck = std::mem::take(&mut self.stuck);
        if stuck.told {
            tracing::info!("there is room on the disk again");
            let leads = self.replica.leads();
            self.replica.machine_mut().lead(leads);
        }
    }
}

/// Nothing that comes meanwhile can be done: letters are as if lost.
fn refuse<M: Machine>(message: Message<M>) {
    match message {
        Message::Propose(_, ticket, _)
        | Message::Read(ticket, _)
        | Message::Change(_, ticket, _) => {
            // Whoever asked may have gone away.
            let _ = ticket.send(Err(ProposeError::Busy));
        }
        Message::Transfer(_, answer) => {
            let _ = answer.send(false);
        }
        Message::Letter(..)
        | Message::Unreachable(_)
        | Message::SnapshotCarried(..)
        | Message::Wake => {}
    }
}
