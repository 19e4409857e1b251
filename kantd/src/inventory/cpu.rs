//! Sockets, cores and threads, from /sys/devices/system/cpu (kernel documentation,
//! admin-guide/cputopology.rst).

use super::host::{Host, InventoryError};
use common::cpuset::CpuSet;
use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Processors {
    pub sockets: u32,
    /// Hardware threads of the core that has the most.
    pub threads_per_core: u32,
    /// Every online logical CPU.
    pub online: CpuSet,
    /// The CPUs that jobs may use.
    pub offered: CpuSet,
    /// The offered CPUs by core, sorted by the lowest CPU of each.
    pub cores: Vec<CpuSet>,
}

impl Processors {
    /// Reads the topology. By default the CPUs that this process may use are offered, because kantd
    /// in a container must not offer the host's. `only` overrides that, whatever kantd is bound to.
    pub(super) fn read(host: &Host, only: Option<&CpuSet>) -> Result<Self, InventoryError> {
        let online = host.read_cpus("sys/devices/system/cpu/online")?;
        let offered = match only {
            None => online.intersection(&read_allowed_cpus(host)?),
            Some(only) if only.is_subset(&online) => only.clone(),
            Some(only) => {
                let missing = only.difference(&online);
                return Err(InventoryError::CpusMissing { missing, online });
            }
        };
        let mut packages = BTreeSet::new();
        let mut cores = BTreeSet::new();
        for cpu in online.iter() {
            packages.insert(package_of_cpu(host, cpu));
            cores.insert(core_of_cpu(host, cpu)?);
        }
        let threads = cores.iter().map(|core: &Core| core.0.len()).max();
        let offered_of = |core: &Core| core.0.intersection(&offered);
        Ok(Self {
            sockets: u32::try_from(packages.len()).unwrap_or(u32::MAX),
            threads_per_core: threads.unwrap_or(1),
            cores: cores.iter().map(offered_of).filter(|core| !core.is_empty()).collect(),
            online,
            offered,
        })
    }
}

/// The threads of a core; cores are ordered by their lowest CPU.
#[derive(PartialEq, Eq)]
struct Core(CpuSet);

impl Ord for Core {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.iter().cmp(other.0.iter())
    }
}

impl PartialOrd for Core {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The CPUs on which this process may run (man 5 proc, /proc/pid/status).
fn read_allowed_cpus(host: &Host) -> Result<CpuSet, InventoryError> {
    let path = "proc/self/status";
    let text = host.read(path)?;
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cpus = list.and_then(|list| list.trim().parse().ok());
    cpus.ok_or_else(|| host.malformed(path, &text, "a status with Cpus_allowed_list"))
}

/// A CPU's package. Some virtual machines have -1 or nothing, which counts as one package.
fn package_of_cpu(host: &Host, cpu: u32) -> u32 {
    let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
    host.read_if_any(&path).and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The online threads of a CPU's core; only the CPU itself if the kernel does not know.
/// `core_cpus_list` is the newer name of `thread_siblings_list`.
fn core_of_cpu(host: &Host, cpu: u32) -> Result<Core, InventoryError> {
    for name in ["core_cpus_list", "thread_siblings_list"] {
        let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/{name}");
        if host.read_if_any(&path).is_some() {
            return host.read_cpus(&path).map(Core);
        }
    }
    Ok(Core([cpu].into_iter().collect()))
}
