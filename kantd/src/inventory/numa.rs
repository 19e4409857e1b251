//! NUMA nodes, from /sys/devices/system/node. A kernel without NUMA has one node with everything.

use super::host::{Host, InventoryError};
use super::memory::parse_kibibytes;
use common::cpuset::CpuSet;
use common::node::Numa;
use common::unit::Bytes;

const NODES: &str = "sys/devices/system/node";

/// Every NUMA node with CPUs or memory; at least one.
pub(super) fn read(
    host: &Host,
    online: &CpuSet,
    machine_memory: Bytes,
) -> Result<Vec<Numa>, InventoryError> {
    let mut nodes = Vec::new();
    for id in host.numbered(NODES, "node") {
        let cpus = host.read_cpus(&format!("{NODES}/node{id}/cpulist"))?;
        let memory = memory_of(host, id)?;
        if !cpus.is_empty() || memory > Bytes::ZERO {
            nodes.push(Numa { id, cpus, memory });
        }
    }
    if nodes.is_empty() {
        nodes.push(Numa { id: 0, cpus: online.clone(), memory: machine_memory });
    }
    Ok(nodes)
}

/// The amount in the line `Node 0 MemTotal:  1024 kB` of the node's meminfo.
fn memory_of(host: &Host, id: u16) -> Result<Bytes, InventoryError> {
    let path = format!("{NODES}/node{id}/meminfo");
    let text = host.read(&path)?;
    let total = text.lines().find_map(|line| line.split_once("MemTotal:"));
    total
        .and_then(|(_, amount)| parse_kibibytes(amount))
        .ok_or_else(|| host.malformed(&path, &text, "a meminfo with MemTotal"))
}
