//! What is held on each node and on each of its devices, in sums.

use super::counted::part_on;
use super::world::{NodeAt, Task};
use std::collections::BTreeMap;

/// What is held on one node, apart from devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Held {
    pub cpu_milli: i64,
    pub memory_bytes: i64,
    /// Task slots.
    pub slots: i64,
}

/// What is held on all nodes. Empty: nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loads {
    nodes: Vec<Held>,
    /// The index of each node's first device.
    from: Vec<usize>,
    /// Thousandths of each device, node by node.
    devices: Vec<i64>,
}

impl Loads {
    /// No load, on nodes with these numbers of devices.
    pub(super) fn none(devices: impl Iterator<Item = u32>) -> Self {
        let mut loads = Self::default();
        for count in devices {
            loads.nodes.push(Held::default());
            loads.from.push(loads.devices.len());
            loads.devices.resize(loads.devices.len() + count as usize, 0);
        }
        loads
    }

    /// Adds what a task holds (`sign` 1) or removes it (-1). Unknown nodes and devices are ignored.
    pub(super) fn change(&mut self, task: &Task, sign: i64) {
        let Some(at) = task.node.map(|node| node.0) else { return };
        let Some((node, from)) = self.nodes.get_mut(at).zip(self.from.get(at)) else { return };
        node.cpu_milli += sign * task.cpu_milli;
        node.memory_bytes += sign * task.memory_bytes;
        node.slots += sign * task.slots.max(1);
        let milli = part_on(task, None).map_or(0, |(milli, _)| milli);
        for device in task.devices.iter().flatten() {
            if let Some(held) = self.devices.get_mut(from + device) {
                *held += sign * milli;
            }
        }
    }

    /// What is held on a node.
    pub(super) fn on(&self, node: usize) -> Held {
        self.nodes.get(node).copied().unwrap_or_default()
    }

    /// The thousandths held of each of a node's devices. Empty: the node is not known.
    pub(super) fn devices_on(&self, node: usize) -> &[i64] {
        let Some(from) = self.from.get(node) else { return &[] };
        let to = self.from.get(node + 1).copied().unwrap_or(self.devices.len());
        self.devices.get(*from..to).unwrap_or_default()
    }
}

/// What some jobs hold, for the nodes where they hold something.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Spots(BTreeMap<NodeAt, (Held, Vec<i64>)>);

impl Spots {
    /// Like [`Loads::change`], on a node with `count` devices.
    pub fn change(&mut self, task: &Task, sign: i64, count: usize) {
        let Some(node) = task.node else { return };
        let known = self.0.entry(node).or_insert_with(|| (Held::default(), vec![0; count]));
        known.0.cpu_milli += sign * task.cpu_milli;
        known.0.memory_bytes += sign * task.memory_bytes;
        known.0.slots += sign * task.slots.max(1);
        let milli = part_on(task, None).map_or(0, |(milli, _)| milli);
        for device in task.devices.iter().flatten() {
            if let Some(held) = known.1.get_mut(*device) {
                *held += sign * milli;
            }
        }
        if known.0.slots == 0 {
            self.0.remove(&node);
        }
    }

    pub fn each(&self) -> impl Iterator<Item = (NodeAt, &Held, &[i64])> {
        self.0.iter().map(|(node, (held, devices))| (*node, held, &devices[..]))
    }
}
