//! The log's thread while the disk is full. A single controller keeps its callers waiting and
//! continues once there is space: nothing is lost, and nothing is acknowledged. One of several
//! gives up leadership, so that another leads.

use super::message::Message;
use super::thread::Thread;
use super::{Machine, ThreadMachine};
use replica::ProposeError;
use std::time::{Duration, Instant};
use wal::Disk;

const PAUSE: Duration = Duration::from_secs(1);
/// After about this time without heartbeats the others elect another leader.
const PATIENCE: Duration = Duration::from_secs(1);

/// Since when the disk is full, and whether that was published.
#[derive(Debug, Default)]
pub(super) struct DiskFull {
    since: Option<Instant>,
    published: bool,
}

impl DiskFull {
    /// Whether it was published that this controller cannot lead.
    pub fn is_published(&self) -> bool {
        self.published
    }
}

impl<M: ThreadMachine, D: Disk + 'static> Thread<M, D> {
    /// Waits before the next attempt.
    pub(super) fn wait_for_space(&mut self, why: &str) {
        tracing::error!("{why}; all changes wait until there is free space");
        if self.replica.members().voters.len() <= 1 {
            return std::thread::sleep(PAUSE);
        }
        let since = *self.disk_full.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= PATIENCE && !self.disk_full.published {
            self.disk_full.published = true;
            self.replica.machine_mut().set_leading(false);
            self.replica.refuse_all(&ProposeError::Unknown);
            self.send_output();
            self.status_publisher.publish(&self.replica, true, true);
        }
        let until = Instant::now() + PAUSE;
        while let Ok(message) = self.inbox.recv_timeout(until.duration_since(Instant::now())) {
            refuse(message);
        }
    }

    /// The last write succeeded.
    pub(super) fn note_space(&mut self) {
        let disk_full = std::mem::take(&mut self.disk_full);
        if disk_full.published {
            tracing::info!("the disk has free space again");
            let leads = self.replica.leads();
            self.replica.machine_mut().set_leading(leads);
        }
    }
}

/// Answers a message that cannot be processed; peer messages are dropped.
fn refuse<M: Machine>(message: Message<M>) {
    match message {
        Message::Propose(_, ticket, _)
        | Message::Read(ticket, _)
        | Message::Change(_, ticket, _) => {
            // The caller may be gone.
            let _ = ticket.send(Err(ProposeError::Busy));
        }
        Message::Transfer(_, answer) => {
            let _ = answer.send(false);
        }
        Message::Peer(..)
        | Message::Unreachable(_)
        | Message::SnapshotCarried(..)
        | Message::Sum(..)
        | Message::Wake => {}
    }
}
