//! The load of each node on a board: what is held, leaving, reserved and free.

use super::amount::Amount;
use super::board::{Board, Place};
use super::seat::slice_gpus;
use super::tree::QueueAt;
use super::unseen::Rest;
use super::world::{GpuAsk, NodeAt, TaskAt};
use std::collections::BTreeMap;

/// Capacity, and how much of it is held, of that is about to be released, and is reserved in
/// addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Load {
    pub room: i64,
    pub held: i64,
    pub leaving: i64,
    pub promised: i64,
}

impl Load {
    const fn of(room: i64) -> Self {
        Self { room, held: 0, leaving: 0, promised: 0 }
    }

    /// Free once everything that leaves has left and everything reserved has started.
    pub const fn later(&self) -> i64 {
        self.room - self.held + self.leaving - self.promised
    }

    /// Free now and not reserved.
    pub fn now(&self) -> i64 {
        (self.room - self.held).min(self.later())
    }
}

/// The load of one node.
#[derive(Debug, Clone)]
pub(super) struct NodeLoad {
    pub cpu: Load,
    pub memory: Load,
    pub tasks: Load,
    pub slices: BTreeMap<String, Load>,
    /// The range of its devices in the list of all devices.
    devices: (usize, usize),
    /// Free once everything that leaves has left: an upper bound, with GPUs summed over devices.
    pub spare: Amount,
}

impl Board<'_> {
    /// Sets up the nodes, with what running jobs hold that the world does not name.
    pub(super) fn lay_out(&mut self) {
        let unseen = &self.world.unseen;
        self.nodes.reserve(self.world.nodes.len());
        self.devices.reserve(self.world.nodes.iter().map(|node| node.gpus as usize).sum());
        for (at, node) in self.world.nodes.iter().enumerate() {
            let (held, on_devices) = (unseen.loads.on(at), unseen.loads.devices_on(at));
            let from = self.devices.len();
            let load = |room, held| Load { held, ..Load::of(room) };
            let known = on_devices.iter().copied().chain(std::iter::repeat(0));
            let known = known.take(node.gpus as usize);
            self.devices.extend(known.map(|milli| load(1000, milli)));
            let slices = node.slices.iter();
            self.nodes.push(NodeLoad {
                cpu: load(node.cpu_milli, held.cpu_milli),
                memory: load(node.memory_bytes, held.memory_bytes),
                tasks: load(node.tasks_max, held.slots),
                slices: slices.map(|(name, count)| (name.clone(), Load::of(*count))).collect(),
                devices: (from, self.devices.len()),
                spare: Amount::default(),
            });
        }
        let held = |(_, rest): &(usize, &Rest)| rest.held != Amount::default();
        for (at, rest) in unseen.queues.iter().enumerate().filter(held) {
            let others = rest.held.minus(&rest.firm);
            self.tree.charge(QueueAt(at), &others, false, true);
            self.tree.charge(QueueAt(at), &rest.firm, true, true);
            self.tree.ask(QueueAt(at), &rest.held);
        }
    }

    /// Computes the spare capacity once all tasks are seated; it is kept up to date from then on.
    pub(super) fn count_spare(&mut self) {
        for node in &mut self.nodes {
            node.spare = node.free(&self.devices[node.devices.0..node.devices.1]);
            self.spare = self.spare.plus(&node.spare);
        }
        self.has_spare = true;
    }

    /// The devices of a node, in thousandths of each.
    pub fn devices(&self, node: NodeAt) -> &[Load] {
        let (from, to) = self.nodes[node.0].devices;
        &self.devices[from..to]
    }

    /// Applies a change to what a task holds at a place.
    pub(super) fn load(&mut self, task: TaskAt, place: &Place, change: impl Fn(&mut Load, i64)) {
        let asks = &self.world.tasks[task.0];
        let node = &mut self.nodes[place.node.0];
        let devices = &mut self.devices[node.devices.0..node.devices.1];
        change(&mut node.cpu, asks.cpu_milli);
        change(&mut node.memory, asks.memory_bytes);
        change(&mut node.tasks, asks.slots.max(1));
        for device in &place.devices {
            if let Some(device) = devices.get_mut(*device) {
                change(device, place.milli);
            }
        }
        if let GpuAsk::Slices(slices) = &asks.gpus {
            for (profile, count) in slices {
                change(node.slices.entry(profile.clone()).or_default(), *count);
            }
        }
        if self.has_spare {
            let spare = node.free(devices);
            let before = std::mem::replace(&mut node.spare, spare);
            self.spare = self.spare.minus(&before).plus(&node.spare);
        }
    }
}

impl NodeLoad {
    /// Free once everything that leaves has left; zero where a resource is overcommitted.
    fn free(&self, devices: &[Load]) -> Amount {
        let devices: i64 = devices.iter().map(|device| device.later().max(0)).sum();
        let slices = self.slices.iter();
        let slices = slices.map(|(name, load)| slice_gpus(name) * load.later().max(0)).sum();
        Amount {
            cpu_milli: self.cpu.later().max(0),
            memory_bytes: self.memory.later().max(0),
            gpu_milli: devices.max(slices),
        }
    }
}
