//! The GPUs of this machine: their inventory, their links, and the GPUs that cannot be offered.
//!
//! [`nvml`] uses NVIDIA's library, loaded at run time, and [`amd`] the kernel's files; [`numbers`]
//! keeps the numbers of GPUs, [`meter`] reads their usage, `nvidia_health` checks their health, and
//! `uvm` makes the device file of CUDA.

pub mod amd;
pub mod meter;
pub mod numbers;
pub(crate) mod nvidia_health;
pub mod nvml;
pub(crate) mod uvm;

use common::gpu::{Gpu, GpuMatrix, GpuPath};
use common::id::GpuIndex;
use nvml_wrapper::error::NvmlError;
use std::path::PathBuf;

/// The result of GPU discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuInventory {
    /// The driver's version, as `nvidia-smi` prints it.
    pub driver: String,
    /// The GPUs that jobs may use, by index: the position in the driver's order at first, and a
    /// permanent number after [`numbers::GpuNumbers::assign_numbers`].
    pub gpus: Vec<Gpu>,
    /// Their links, by the indices of `gpus`.
    pub matrix: GpuMatrix,
    /// GPUs that jobs cannot use, or not with all their MIG devices.
    pub skipped: Vec<SkippedGpu>,
}

impl GpuInventory {
    /// Appends the GPUs of another vendor.
    #[must_use]
    pub fn merge_vendor(mut self, others: Self) -> Self {
        let before = self.gpus.len();
        let size = before + others.gpus.len();
        let path = |a: usize, b: usize| match (a.checked_sub(before), b.checked_sub(before)) {
            (None, None) => self.matrix.path(gpu_index_at(a), gpu_index_at(b)),
            (Some(a), Some(b)) => others.matrix.path(gpu_index_at(a), gpu_index_at(b)),
            _ => GpuPath::Sys,
        };
        let paths = (0..size).map(|a| (0..size).map(|b| path(a, b)).collect()).collect();
        let behind = others.gpus.into_iter().zip(before..);
        self.gpus.extend(behind.map(|(gpu, place)| Gpu { index: gpu_index_at(place), ..gpu }));
        self.skipped.extend(others.skipped);
        let driver = format!("{}, {}", self.driver, others.driver);
        Self { driver, matrix: GpuMatrix { paths }, ..self }
    }
}

fn gpu_index_at(place: usize) -> GpuIndex {
    GpuIndex(u16::try_from(place).unwrap_or(u16::MAX))
}

/// A GPU that cannot be offered, or not with all its MIG devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedGpu {
    /// The driver's index, as in `nvidia-smi -i`.
    pub driver_index: u32,
    /// Its id, if it is known and the GPU is healthy.
    pub uuid: Option<String>,
    /// The reason and the remedy.
    pub reason: String,
}

/// The GPUs could not be listed although the library exists.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    #[error(
        "failed to load the GPU library {}: {source}; reinstall the driver",
        library.display()
    )]
    Load { library: PathBuf, source: NvmlError },
    #[error("failed to start the GPU library {}: {source}; {advice}", library.display())]
    Start { library: PathBuf, source: NvmlError, advice: &'static str },
    /// The library does not answer a query about the whole machine.
    #[error("failed to ask the GPU driver for {what}: {source}")]
    Ask { what: &'static str, source: NvmlError },
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::cpuset::CpuSet;
    use common::gpu::GpuKind;
    use common::unit::Bytes;

    fn two(driver: &str, link: GpuPath) -> GpuInventory {
        let gpu = |place| Gpu {
            index: gpu_index_at(place),
            uuid: format!("{driver}-{place}"),
            model: driver.to_owned(),
            kind: GpuKind(driver.to_owned()),
            memory: Bytes(1),
            minor: 0,
            pci_bus_id: String::new(),
            numa: None,
            cpus: CpuSet::new(),
            mig: None,
        };
        let paths = vec![vec![GpuPath::Own, link], vec![link, GpuPath::Own]];
        let (gpus, matrix) = (vec![gpu(0), gpu(1)], GpuMatrix { paths });
        GpuInventory { driver: driver.to_owned(), gpus, matrix, skipped: Vec::new() }
    }

    #[test]
    fn gpus_of_two_vendors_are_in_one_list_without_links_between_them() {
        let both = two("a", GpuPath::NvLink(4)).merge_vendor(two("b", GpuPath::Pix));
        assert_eq!(both.driver, "a, b");
        let uuids: Vec<&str> = both.gpus.iter().map(|gpu| gpu.uuid.as_str()).collect();
        assert_eq!(uuids, ["a-0", "a-1", "b-0", "b-1"]);
        assert_eq!(both.gpus[3].index, GpuIndex(3));
        let row = |a: u16| (0..4).map(move |b| (GpuIndex(a), GpuIndex(b)));
        let row = |a| row(a).map(|(a, b)| both.matrix.path(a, b).to_string()).collect::<Vec<_>>();
        assert_eq!(row(0), ["X", "NV4", "SYS", "SYS"]);
        assert_eq!(row(2), ["SYS", "SYS", "X", "PIX"]);
    }
}
