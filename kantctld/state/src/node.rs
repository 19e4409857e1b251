//! What the state keeps of a node. Never what runs there; that is the ledger's.

use crate::fault::NodeFaults;
use common::health::Finding;
use common::id::NodeName;
use common::node::{Contact, Drain, Inventory, NodeStatus, Resumed};
use common::time::Time;
use common::unit::{Cpus, Gpus};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A node that once registered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    pub name: NodeName,
    /// Which installation of kantd it is; tells two machines with one name apart.
    pub identity: String,
    /// Where other nodes reach it.
    pub address: String,
    pub version: String,
    /// What it has, by its last Hello.
    pub inventory: Arc<Inventory>,
    /// Whether it is heard from.
    pub contact: Contact,
    /// No new jobs, by an operator's wish or after too many faults. Survives reconnects and
    /// replacement.
    pub drain: Option<Drain>,
    /// The last time that an operator put it in use again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
    /// Starts in a row that failed here by a fault of the node.
    #[serde(default)]
    pub start_faults: NodeFaults,
    /// All that it finds wrong with itself, by its last word.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Those of them that an operator put the node in use in spite of: they do not drain it again,
    /// and hold up no drain's end.
    #[serde(default)]
    pub answered: Vec<Finding>,
    /// When it was drained for its health lately.
    #[serde(default)]
    pub health_drains: Vec<Time>,
}

impl NodeRecord {
    /// May jobs start here now?
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.contact == Contact::Connected && self.drain.is_none()
    }

    /// Its state in Slurm's words, given what is in use.
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
