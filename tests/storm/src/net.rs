//! The simulated network: which hosts reach each other, and delay, loss and duplication of
//! messages.

use crate::message::{Host, LinkId};
use crate::rng::Rng;
use common::id::ControllerId;
use std::collections::BTreeMap;

/// Faults of messages while the network is flaky.
#[derive(Debug, Clone, Copy)]
pub struct Flaky {
    /// When they end, in milliseconds.
    pub until_ms: u64,
    /// Percentage of messages that are lost.
    pub lost_percent: u64,
    /// Percentage of messages that arrive twice.
    pub doubled_percent: u64,
    /// Longest additional delay, in milliseconds.
    pub late_ms: u64,
}

pub struct Net {
    blocked: BTreeMap<(Host, Host), u32>,
    /// The current faults of messages.
    pub flaky: Flaky,
    rng: Rng,
}

/// A connection of a node to a controller.
#[derive(Debug, Clone)]
pub struct Link {
    pub node: usize,
    /// The start of kantd it belongs to.
    pub node_life: u64,
    pub controller: ControllerId,
    /// The start of the controller's process it belongs to.
    pub controller_life: u64,
    /// The node has not closed it.
    pub is_node_open: bool,
    /// The controller has not closed it.
    pub is_controller_open: bool,
    /// A message was lost on it, so it delivers nothing more.
    pub is_doomed: bool,
    /// Since when it delivers nothing, in milliseconds.
    pub bad_since_ms: Option<u64>,
    /// When the last message to the controller arrives, in milliseconds.
    pub up_at_ms: u64,
    /// When the last message to the node arrives, in milliseconds.
    pub down_at_ms: u64,
}

pub type Links = BTreeMap<LinkId, Link>;

impl Net {
    /// A network without faults.
    pub fn new(rng: Rng) -> Self {
        let flaky = Flaky { until_ms: 0, lost_percent: 0, doubled_percent: 0, late_ms: 0 };
        Self { blocked: BTreeMap::new(), flaky, rng }
    }

    /// Blocks messages in this direction.
    pub fn block(&mut self, from: Host, to: Host) {
        *self.blocked.entry((from, to)).or_insert(0) += 1;
    }

    /// Removes one block of this direction; another fault may still block it.
    pub fn unblock(&mut self, from: Host, to: Host) {
        if let Some(count) = self.blocked.get_mut(&(from, to)) {
            *count -= 1;
            if *count == 0 {
                self.blocked.remove(&(from, to));
            }
        }
    }

    /// Ends all faults.
    pub fn heal(&mut self) {
        self.blocked.clear();
        self.flaky.until_ms = 0;
    }

    /// Are messages in this direction blocked?
    pub fn is_blocked(&self, from: Host, to: Host) -> bool {
        self.blocked.contains_key(&(from, to))
    }

    /// The delays of all copies of a message, in milliseconds; empty if the message is lost.
    pub fn carry(&mut self, now_ms: u64, from: Host, to: Host) -> Vec<u64> {
        if self.is_blocked(from, to) {
            return Vec::new();
        }
        let first = self.delay_ms(now_ms);
        if now_ms >= self.flaky.until_ms {
            return vec![first];
        }
        let mut copies = vec![first];
        if self.rng.percent(self.flaky.lost_percent) {
            copies.clear();
        }
        if self.rng.percent(self.flaky.doubled_percent) {
            copies.push(self.delay_ms(now_ms));
        }
        copies
    }

    /// The delay of a message that is not lost, in milliseconds.
    pub fn delay_ms(&mut self, now_ms: u64) -> u64 {
        let late = if now_ms < self.flaky.until_ms { self.flaky.late_ms } else { 0 };
        self.rng.between(1, 4) + self.rng.below(late + 1)
    }
}
