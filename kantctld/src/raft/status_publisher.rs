//! Publication of the replica's status: changes that need a reaction at once, counters once a tick.

use super::ThreadMachine;
use super::message::Ticket;
use common::id::ControllerId;
use replica::{Replica, Status};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use wal::Disk;

/// The replica regularly resets which followers were active; here they count as active this long.
const ACTIVE_FOR: Duration = Duration::from_secs(2);

/// The published status, and when each follower was last active.
pub(super) struct StatusPublisher {
    status: watch::Sender<Status>,
    last_active: BTreeMap<ControllerId, Instant>,
}

impl StatusPublisher {
    pub fn new(status: watch::Sender<Status>) -> Self {
        Self { status, last_active: BTreeMap::new() }
    }

    /// Publishes the status if it changed. With `disk_full`, this controller counts as unable to
    /// lead.
    pub fn publish<M: ThreadMachine, D: Disk>(
        &mut self,
        replica: &Replica<M, D, Ticket<M>>,
        ticks: bool,
        disk_full: bool,
    ) {
        let mut status = replica.status();
        self.update_active(&mut status);
        if disk_full {
            status.leads = false;
            status.leader = status.leader.filter(|leader| *leader != status.id);
        }
        self.status.send_if_modified(|published| {
            let due = ticks || is_urgent(published, &status);
            let publishes = due && *published != status;
            if publishes {
                *published = status;
            }
            publishes
        });
    }

    fn update_active(&mut self, status: &mut Status) {
        let now = Instant::now();
        self.last_active.retain(|id, _| status.members.has(*id));
        for follower in &mut status.followers {
            if follower.is_active {
                self.last_active.insert(follower.id, now);
            }
            let last_active = self.last_active.get(&follower.id);
            follower.is_active = last_active.is_some_and(|at| now.duration_since(*at) < ACTIVE_FOR);
        }
    }
}

/// Whether the difference needs a reaction at once.
fn is_urgent(published: &Status, now: &Status) -> bool {
    (published.role, published.leads, published.leader, published.term)
        != (now.role, now.leads, now.leader, now.term)
        || published.members != now.members
}
