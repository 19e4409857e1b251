//! The inventory of this machine: CPUs, NUMA nodes, memory and GPUs that it offers to jobs.
//!
//! It is read once, when kantd starts, from /sys and /proc below a root that tests can set. After a
//! change of the machine kantd must be restarted.

mod cpu;
mod host;
mod memory;
mod nic;
mod numa;
mod show;

pub use cpu::Processors;
pub use host::{Host, InventoryError};
pub use show::show;

use crate::gpu::GpuInventory;
use common::cpuset::CpuSet;
use common::gpu::GpuMatrix;
use common::node::Inventory;
use common::unit::Bytes;

/// Resources that the operator withholds from jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeptBack {
    /// CPUs to offer; `None` for all that this process may use.
    pub only_cpus: Option<CpuSet>,
    /// Memory that jobs do not get.
    pub memory: Bytes,
}

/// Reads the inventory.
///
/// # Errors
/// When the kernel's files cannot be read, or more is withheld than exists.
pub fn read(
    host: &Host,
    kept_back: &KeptBack,
    gpus: Option<GpuInventory>,
    mut limits_missing: Vec<String>,
) -> Result<Inventory, InventoryError> {
    let processors = Processors::read(host, kept_back.only_cpus.as_ref())?;
    let machine_memory = memory::total(host)?;
    let (gpus, gpu_matrix, gpu_driver) = match gpus {
        None => (Vec::new(), GpuMatrix::default(), None),
        Some(found) => {
            limits_missing.extend(found.skipped.iter().map(|gpu| {
                format!("GPU {} of the driver is not offered: {}", gpu.driver_index, gpu.reason)
            }));
            (found.gpus, found.matrix, Some(found.driver))
        }
    };
    let nics = nic::read(host, &gpus);
    Ok(Inventory {
        sockets: processors.sockets,
        threads_per_core: processors.threads_per_core,
        numa: numa::read(host, &processors.online, machine_memory)?,
        cpus: processors.offered,
        cores: processors.cores,
        memory: memory::offered(machine_memory, kept_back.memory)?,
        gpus,
        gpu_matrix,
        nics,
        boot_id: host.read("proc/sys/kernel/random/boot_id")?.trim().to_owned(),
        gpu_driver,
        features: Vec::new(),
        limits_missing,
    })
}
