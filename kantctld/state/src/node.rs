//! The stored form of a node. What it runs is in the ledger.

use crate::fault::NodeFaults;
use common::health::Finding;
use common::id::{DataName, NodeName};
use common::node::{Contact, Drain, Inventory, NodeStatus, Resumed};
use common::serde_skip::is_default;
use common::time::Time;
use common::unit::{Cpus, Gpus};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A node that has registered at least once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    pub name: NodeName,
    /// The identity of its kantd installation, which distinguishes two machines with the same name.
    pub identity: String,
    /// The address at which other nodes reach it.
    pub address: String,
    pub version: String,
    /// Its inventory, by its last Hello message.
    pub inventory: Arc<Inventory>,
    pub contact: Contact,
    /// No new jobs start, because an operator or too many faults drained it. Survives reconnection
    /// and replacement.
    pub drain: Option<Drain>,
    /// In the next release, a drain may have a note.
    #[cfg(feature = "next-rules")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When an operator last resumed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
    /// The starts in a row that failed here by a fault of the node.
    pub start_faults: NodeFaults,
    /// Its own findings on its health, by its last report.
    pub findings: Vec<Finding>,
    /// Findings that an operator has accepted by resuming the node: they do not drain it again, and
    /// do not prolong a drain.
    pub answered: Vec<Finding>,
    /// The recent times at which it was drained for its health.
    pub health_drains: Vec<Time>,
    /// The names of the data that it has, by its last report, in ascending order.
    #[serde(default, skip_serializing_if = "is_default")]
    pub data: Arc<[DataName]>,
}

impl NodeRecord {
    /// Whether jobs may start here now.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.contact == Contact::Connected && self.drain.is_none()
    }

    /// Its state in Slurm's terms, given what is in use.
    #[must_use]
    pub fn status(&self, cpus_used: Cpus, gpus_used: Gpus) -> NodeStatus {
        let used = cpus_used.0 > 0 || gpus_used.0 > 0;
        if self.contact != Contact::Connected {
            return NodeStatus::Down;
        }
        if self.drain.is_some() {
            return if used { NodeStatus::Draining } else { NodeStatus::Drained };
        }
        let gpus = self.inventory.gpu_count();
        let full = cpus_used >= self.inventory.cpu_count() || (gpus.0 > 0 && gpus_used >= gpus);
        match (used, full) {
            (false, _) => NodeStatus::Idle,
            (true, true) => NodeStatus::Allocated,
            (true, false) => NodeStatus::Mixed,
        }
    }
}
