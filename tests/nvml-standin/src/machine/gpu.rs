//! One GPU of a machine file. Whatever an entry leaves out comes from `[every_gpu]`; whatever both
//! leave out, the GPU answers with NOT_SUPPORTED.

use super::name::{NumberList, PciAddress, uuid};
use serde::Deserialize;

/// A GPU as described.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Gpu {
    /// The product name, `NVIDIA H100 80GB HBM3`. Required here or in `[every_gpu]`.
    pub model: Option<String>,
    /// All of its memory in MiB. Required here or in `[every_gpu]`.
    pub memory_mib: Option<u64>,
    /// Memory that the driver keeps, in MiB.
    pub reserved_mib: Option<u64>,
    /// `GPU-...`; made of the machine's name and the index if left out.
    pub uuid: Option<String>,
    /// The N of /dev/nvidiaN; the index if left out.
    pub minor: Option<u32>,
    /// `0000:1b:00.0`. Required.
    pub pci: Option<PciAddress>,
    /// The device half of the PCI id: 0x2330 is an H100 SXM.
    pub pci_device: Option<u32>,
    /// Host bridge and switches above the GPU, from the top: `root0/switch1`.
    pub pcie: Option<String>,
    /// The NUMA node it hangs on.
    pub numa: Option<u32>,
    /// The CPUs near it, `0-55,112-167`.
    pub cpus: Option<NumberList>,
    pub architecture: Option<Architecture>,
    /// Major and minor CUDA compute capability.
    pub compute_capability: Option<(i32, i32)>,
    /// The version of its NVLinks (1 to 5).
    pub nvlink_version: Option<u32>,
    /// Link numbers that are down. Not inherited.
    pub down_links: Vec<usize>,
    /// Error counts; without it the GPU has no ECC.
    pub ecc: Option<Ecc>,
    /// Rows of memory taken out of use.
    pub remapped_rows: Option<RemappedRows>,
    /// How busy it is, in percent.
    pub utilization_percent: Option<Usage>,
    pub temperature_celsius: Option<u32>,
    pub power_watts: Option<u32>,
    pub power_limit_watts: Option<u32>,
    /// Energy used since the driver was loaded.
    pub energy_joules: Option<u64>,
    pub clocks_mhz: Option<Clocks>,
    pub persistence: Option<bool>,
    /// How many MIG devices it can be cut into; without it the GPU cannot do MIG.
    pub mig_capacity: Option<u32>,
    /// Its MIG devices; an empty list is MIG mode without devices. Not inherited.
    pub mig: Option<Vec<Mig>>,
    /// What runs on it. Not inherited.
    pub processes: Vec<Process>,
    /// Fallen off the bus: every call about it fails. Not inherited.
    pub lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    Volta,
    Turing,
    Ampere,
    Ada,
    Hopper,
    Blackwell,
}

/// ECC and its counts: since the driver was loaded, and ever.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ecc {
    pub off: bool,
    pub volatile: Errors,
    pub aggregate: Errors,
}

/// Memory errors, all of them in DRAM.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Errors {
    pub corrected: u64,
    pub uncorrected: u64,
}

/// Rows of memory replaced by spare ones.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RemappedRows {
    pub corrected: u32,
    pub uncorrected: u32,
    /// A reset is needed to remap a row.
    pub pending: bool,
    /// A row could not be remapped.
    pub failed: bool,
}

/// How busy a GPU and its memory are.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    pub gpu: u32,
    pub memory: u32,
}

/// The clocks now running.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    pub graphics: u32,
    pub sm: u32,
    pub memory: u32,
    pub video: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mig {
    /// Its place among the GPU's MIG devices; places may stay empty.
    pub slot: usize,
    /// `1g.10gb`.
    pub profile: String,
    pub gpu_instance: u32,
    pub compute_instance: u32,
    pub memory_mib: u64,
    /// Sevenths of the GPU.
    pub slices: u32,
    pub multiprocessors: u32,
    /// `MIG-...`; made up if left out.
    pub uuid: Option<String>,
}

/// A process on a GPU.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub pid: u32,
    pub memory_mib: u64,
    #[serde(default)]
    pub kind: ProcessKind,
    /// Its command, where known.
    pub name: Option<String>,
    /// The MIG slot it runs in.
    pub mig: Option<usize>,
}

/// What a process does on the GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessKind {
    #[default]
    Compute,
    Graphics,
}

macro_rules! inherit {
    ($own:expr, $base:expr; $($field:ident),*) => {
        $(if $own.$field.is_none() { $own.$field.clone_from(&$base.$field); })*
    };
}

impl Gpu {
    /// Takes from `[every_gpu]` what this entry leaves out.
    pub(super) fn fill_in(&mut self, every: &Self) {
        inherit!(self, every; model, memory_mib, reserved_mib, uuid, minor, pci, pci_device, pcie,
            numa, cpus, architecture, compute_capability, nvlink_version, ecc, remapped_rows,
            utilization_percent, temperature_celsius, power_watts, power_limit_watts,
            energy_joules, clocks_mhz, persistence, mig_capacity);
    }

    /// Makes up the uuids and the minor number that the file leaves out.
    pub(super) fn name_yourself(&mut self, machine: &str, index: usize) {
        self.uuid.get_or_insert_with(|| format!("GPU-{}", uuid(&format!("{machine}/{index}"))));
        self.minor.get_or_insert(u32::try_from(index).unwrap_or(u32::MAX));
        for mig in self.mig.iter_mut().flatten() {
            let seed = format!("{machine}/{index}/{}", mig.slot);
            mig.uuid.get_or_insert_with(|| format!("MIG-{}", uuid(&seed)));
        }
    }

    /// The MIG device in a slot.
    pub fn mig_in(&self, slot: usize) -> Option<&Mig> {
        self.mig.iter().flatten().find(|mig| mig.slot == slot)
    }

    /// Memory that its processes use, in MiB.
    pub fn used_mib(&self, slot: Option<usize>) -> u64 {
        let counts = |p: &&Process| slot.is_none() || p.mig == slot;
        self.processes.iter().filter(counts).map(|p| p.memory_mib).sum()
    }
}
