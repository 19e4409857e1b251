//! Tells the rest of the controller how the replica stands: what somebody must act on at once, mere
//! counters once a tick. Never tells the same twice.

use super::Driven;
use super::message::Ticket;
use common::id::ControllerId;
use replica::{Replica, Status};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use wal::Disk;

/// The replica forgets regularly whom it heard, to hear them again; here they count for a while.
const HEARD_FOR: Duration = Duration::from_secs(2);

/// What was told last, and who was heard when.
pub(super) struct Telling {
    status: watch::Sender<Status>,
    heard: BTreeMap<ControllerId, Instant>,
}

impl Telling {
    pub fn new(status: watch::Sender<Status>) -> Self {
        Self { status, heard: BTreeMap::new() }
    }

    /// Looks at the replica. `stuck`: it cannot lead, whatever it thinks.
    pub fn tell<M: Driven, D: Disk>(
        &mut self,
        replica: &Replica<M, D, Ticket<M>>,
        ticks: bool,
        stuck: bool,
    ) {
        let mut status = replica.status();
        self.remember(&mut status);
        if stuck {
            status.leads = false;
            status.leader = status.leader.filter(|leader| *leader != status.id);
        }
        self.status.send_if_modified(|told| {
            let due = ticks || is_pressing(told, &status);
            let tells = due && *told != status;
            if tells {
                *told = status;
            }
            tells
        });
    }

    fn remember(&mut self, status: &mut Status) {
        let now = Instant::now();
        self.heard.retain(|id, _| status.members.has(*id));
        for follower in &mut status.followers {
            if follower.is_heard {
                self.heard.insert(follower.id, now);
            }
            let heard = self.heard.get(&follower.id);
            follower.is_heard = heard.is_some_and(|at| now.duration_since(*at) < HEARD_FOR);
        }
    }
}

/// Does somebody act on the difference?
fn is_pressing(told: &Status, now: &Status) -> bool {
    (told.role, told.leads, told.leader, told.term) != (now.role, now.leads, now.leader, now.term)
        || told.members != now.members
}
