//! The nodes of a trace as the engine sees them. They are named by their position in the file, so
//! that the engine's order, by name, is the file's.
//!
//! What a trace does not record of a node never limits jobs: CPUs and memory are then as many as
//! any mix of its jobs could take. If jobs ask for fractions of CPUs (`11.908`), CPUs are counted
//! in parts: as many parts per CPU as round the jobs least, at most [`PARTS_MAX`] per node. A job's
//! CPUs are rounded up, a node's down.

use super::{ReplayError, ask};
use crate::hardware::Hardware;
use common::gpu::GpuKind;
use common::id::NodeName;
use common::node::Inventory;
use common::node_names::NodeNames;
use common::unit::{Bytes, Cpus, GpuMilli};
use engine::NodeSnapshot;
use std::collections::BTreeMap;
use std::sync::Arc;
use trace::{CpuMilli, Job, Node};

/// The most parts of CPUs on one node: each is a bit of a set that every start copies.
const PARTS_MAX: u32 = 4096;

/// Memory of a node whose memory is not known: more than jobs ask for, and small enough that sums
/// do not overflow.
const MEMORY_UNKNOWN: Bytes = Bytes::from_mib(1 << 24);

/// CPUs of a node whose CPUs are not known, if GPUs do not limit the number of jobs on it.
const CPUS_UNKNOWN: Cpus = Cpus(PARTS_MAX);

/// How many parts a CPU is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuScale(u32);

impl CpuScale {
    /// The scale that rounds these jobs least on these nodes.
    #[must_use]
    pub fn of(nodes: &[Node], jobs: &[Job]) -> Self {
        let mut sizes: BTreeMap<CpuMilli, u64> = BTreeMap::new();
        for cpus in jobs.iter().filter_map(|job| job.cpus) {
            *sizes.entry(cpus).or_default() += 1;
        }
        let largest = nodes.iter().filter_map(|node| node.cpus).max().unwrap_or_default();
        let most = PARTS_MAX / largest.0.div_ceil(1000).max(1);
        let rounded = |scale: u32| -> u64 {
            let of_one = |(cpus, count): (&CpuMilli, &u64)| {
                let parts = u64::from(cpus.0) * u64::from(scale);
                // In thousandths of a part, converted to the same unit for all scales.
                (parts.next_multiple_of(1000) - parts) * count * u64::from(PARTS_MAX)
                    / u64::from(scale)
            };
            sizes.iter().map(of_one).sum()
        };
        Self((1..=most.max(1)).min_by_key(|scale| (rounded(*scale), *scale)).unwrap_or(1))
    }

    /// What a job takes; at least one part.
    #[must_use]
    pub fn scale_asked(self, cpus: CpuMilli) -> Cpus {
        Cpus(cpus.0.saturating_mul(self.0).div_ceil(1000).max(1))
    }

    /// What a node has.
    #[must_use]
    pub const fn scale_offered(self, cpus: CpuMilli) -> Cpus {
        Cpus(cpus.0.saturating_mul(self.0) / 1000)
    }
}

/// The nodes of a trace, prepared for the engine.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// In the engine's order.
    snapshots: Vec<NodeSnapshot>,
    /// The positions among those, by the engine's names.
    by_name: NodeNames,
    /// From those to the positions in the file.
    places: Vec<u32>,
    /// From the position in the file to the engine's name.
    names: Vec<NodeName>,
    scale: CpuScale,
}

impl Cluster {
    /// In the order of the file.
    #[must_use]
    pub fn new(nodes: &[Node], jobs: &[Job]) -> Self {
        let order: Vec<u32> = (0..).take(nodes.len()).collect();
        Self::with_node_order(nodes, jobs, &order)
    }

    /// In another order: the node at position `order[0]` of the file comes first.
    #[must_use]
    pub fn with_node_order(nodes: &[Node], jobs: &[Job], order: &[u32]) -> Self {
        let scale = CpuScale::of(nodes, jobs);
        let unknown = assumed_cpus(nodes, jobs);
        let mut kinds: BTreeMap<Hardware, Arc<Inventory>> = BTreeMap::new();
        let mut cluster = Self {
            snapshots: Vec::with_capacity(order.len()),
            by_name: NodeNames::default(),
            places: Vec::with_capacity(order.len()),
            names: vec![engine_name(0); nodes.len()],
            scale,
        };
        for (number, place) in (0..).zip(order) {
            let Some(node) = nodes.get(*place as usize) else { continue };
            let hardware = hardware(node, scale, unknown);
            let inventory =
                kinds.entry(hardware).or_insert_with_key(|it| Arc::new(it.inventory())).clone();
            let name = engine_name(number);
            cluster.snapshots.push(NodeSnapshot::usable(name.clone(), inventory));
            cluster.by_name.add(&name);
            cluster.names[*place as usize] = name;
            cluster.places.push(*place);
        }
        cluster
    }

    /// As the engine gets them.
    #[must_use]
    pub fn snapshots(&self) -> &[NodeSnapshot] {
        &self.snapshots
    }

    /// The position in the file of a node of the engine.
    ///
    /// # Errors
    /// [`ReplayError::UnknownNode`] for a name that was not given here.
    pub fn position_of_node(&self, name: &NodeName) -> Result<u32, ReplayError> {
        let known = self.by_name.find(name, |at| &self.snapshots[at as usize].name);
        let place = known.and_then(|at| self.places.get(at as usize)).copied();
        place.ok_or_else(|| ReplayError::UnknownNode { node: name.clone() })
    }

    /// The engine's name of the node at a position of the file.
    #[must_use]
    pub fn name(&self, place: usize) -> Option<&NodeName> {
        self.names.get(place)
    }

    /// The unit in which CPUs are counted.
    #[must_use]
    pub const fn scale(&self) -> CpuScale {
        self.scale
    }
}

/// The position with leading zeros, so that names sort as numbers.
fn engine_name(number: u32) -> NodeName {
    NodeName::new(format!("n{number:010}")).expect("a letter and digits make a name")
}

/// CPUs of a node without a recorded number: one for each job that its GPUs allow on it.
fn assumed_cpus(nodes: &[Node], jobs: &[Job]) -> Cpus {
    if jobs.iter().any(|job| job.gpu_fraction < GpuMilli::WHOLE || job.cpus.is_some()) {
        return CPUS_UNKNOWN;
    }
    let most = nodes.iter().map(|node| node.gpus.0).max().unwrap_or(0);
    Cpus(most.clamp(1, PARTS_MAX))
}

/// The hardware of a node of a trace: single threads.
fn hardware(node: &Node, scale: CpuScale, unknown: Cpus) -> Hardware {
    let kind = node.gpu_model.as_deref().unwrap_or("gpu");
    let cpus = node.cpus.map_or(unknown, |cpus| scale.scale_offered(cpus));
    // Far below a MiB, the unit in which jobs ask: no other job can use it.
    let for_unspecified = u64::from(cpus.0) * ask::MEMORY_UNKNOWN.0;
    let memory = node.mem_mib.map_or(MEMORY_UNKNOWN, Bytes::from_mib);
    Hardware {
        cpus,
        threads_per_core: 1,
        memory: Bytes(memory.0.saturating_add(for_unspecified)),
        gpus: u16::try_from(node.gpus.0).unwrap_or(u16::MAX),
        gpu_kind: kind_of(kind),
        gpu_memory: Bytes::ZERO,
    }
}

/// The engine's name for a GPU model of a trace: the same in lower case, as policy files write it.
pub(super) fn kind_of(model: &str) -> GpuKind {
    GpuKind(model.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{read_jobs, read_nodes};

    fn jobs(cpus: &[&str]) -> Vec<Job> {
        let rows: String =
            (1..).zip(cpus).map(|(id, cpus)| format!("{id},0,5,1,1,{cpus}\n")).collect();
        let head = "job_id,submit_s,runtime_s,nodes,gpus_per_node,cpus\n";
        read_jobs("jobs", format!("{head}{rows}").as_bytes()).unwrap()
    }

    fn nodes(cpus: &str) -> Vec<Node> {
        let text = format!("name,gpus,cpus\nb,8,{cpus}\na,8,{cpus}\n");
        read_nodes("nodes", text.as_bytes()).unwrap()
    }

    #[test]
    fn whole_cpus_are_counted_as_they_are() {
        let scale = CpuScale::of(&nodes("128"), &jobs(&["1", "12"]));
        assert_eq!(scale, CpuScale(1));
        assert_eq!(
            (scale.scale_asked(CpuMilli(12_000)), scale.scale_asked(CpuMilli(0))),
            (Cpus(12), Cpus(1))
        );
    }

    #[test]
    fn parts_of_cpus_are_counted_in_parts_that_round_them_least() {
        let scale = CpuScale::of(&nodes("128"), &jobs(&["11.5", "2.25", "8"]));
        assert_eq!(scale, CpuScale(4));
        assert_eq!((scale.scale_asked(CpuMilli(2250)), scale.scale_offered(CpuMilli(128_000))), {
            (Cpus(9), Cpus(512))
        });
    }

    #[test]
    fn the_engine_sees_nodes_in_the_order_of_the_file_or_the_one_asked_for() {
        let (nodes, jobs) = (nodes(""), jobs(&["", ""]));
        let places = |cluster: &Cluster| -> Vec<u32> {
            cluster
                .snapshots()
                .iter()
                .map(|node| cluster.position_of_node(&node.name).unwrap())
                .collect()
        };
        assert_eq!(places(&Cluster::new(&nodes, &jobs)), [0, 1]);
        let cluster = Cluster::with_node_order(&nodes, &jobs, &[1, 0]);
        assert_eq!(places(&cluster), [1, 0]);
        assert_eq!(cluster.name(1), Some(&cluster.snapshots()[0].name));
        let inventories = cluster.snapshots().iter().map(|node| &node.inventory);
        let inventories: Vec<_> = inventories.collect();
        assert!(Arc::ptr_eq(inventories[0], inventories[1]), "equal nodes share one inventory");
        assert_eq!(inventories[0].cpu_count(), Cpus(8), "one CPU for each GPU is enough");
    }
}
