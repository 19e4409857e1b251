//! The GPUs of this machine: which there are, how they are linked, which cannot be offered and why.
//!
//! [`nvml`] asks NVIDIA's library, loaded at run time, [`amd`] the kernel's files; [`numbers`]
//! remembers which GPU has which number; [`meter`] says what they are doing; `patient` looks
//! whether they are well. Never decides who gets a GPU, or what follows from their health.

pub mod amd;
pub mod meter;
pub mod numbers;
pub mod nvml;
pub(crate) mod patient;

use common::gpu::{Gpu, GpuMatrix, GpuPath};
use common::id::GpuIndex;
use nvml_wrapper::error::NvmlError;
use std::path::PathBuf;

/// What one look at the machine's GPUs found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuInventory {
    /// The driver's version, as `nvidia-smi` prints it.
    pub driver: String,
    /// The GPUs that jobs may have, rising by index: positions in the driver's order when just
    /// found, numbers that last once [`numbers::GpuNumbers::number`] was here.
    pub gpus: Vec<Gpu>,
    /// How they are linked; its indices are those of `gpus`.
    pub matrix: GpuMatrix,
    /// The GPUs that the driver counts and jobs cannot have, or not all MIG devices of.
    pub skipped: Vec<SkippedGpu>,
}

impl GpuInventory {
    /// With those of another vendor behind them.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        let before = self.gpus.len();
        let size = before + others.gpus.len();
        let path = |a: usize, b: usize| match (a.checked_sub(before), b.checked_sub(before)) {
            (None, None) => self.matrix.path(index(a), index(b)),
            (Some(a), Some(b)) => others.matrix.path(index(a), index(b)),
            _ => GpuPath::Sys,
        };
        let paths = (0..size).map(|a| (0..size).map(|b| path(a, b)).collect()).collect();
        let behind = others.gpus.into_iter().zip(before..);
        self.gpus.extend(behind.map(|(gpu, place)| Gpu { index: index(place), ..gpu }));
        self.skipped.extend(others.skipped);
        let driver = format!("{}, {}", self.driver, others.driver);
        Self { driver, matrix: GpuMatrix { paths }, ..self }
    }
}

fn index(place: usize) -> GpuIndex {
    GpuIndex(u16::try_from(place).unwrap_or(u16::MAX))
}

/// A GPU that is there and cannot be offered, or not with all of its MIG devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedGpu {
    /// Its index in the driver's count, as in `nvidia-smi -i`.
    pub driver_index: u32,
    /// Its id, where that is known and the GPU is well.
    pub uuid: Option<String>,
    /// Why, and what to do about it.
    pub reason: String,
}

/// Why the machine's GPUs could not be listed though the library is there.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// A file is there and is no NVML library that this program can load.
    #[error(
        "failed to load the GPU library {}: {source}; install the driver again",
        library.display()
    )]
    Load {
        /// What was to be loaded.
        library: PathBuf,
        /// What the loader says.
        source: NvmlError,
    },
    /// The library does not start.
    #[error("failed to start the GPU library {}: {source}; {advice}", library.display())]
    Start {
        library: PathBuf,
        source: NvmlError,
        /// What the operator can do.
        advice: &'static str,
    },
    /// The library runs and does not answer a question about the whole machine.
    #[error("failed to ask the GPU driver for {what}: {source}")]
    Ask {
        /// What was asked for.
        what: &'static str,
        source: NvmlError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::cpuset::CpuSet;
    use common::gpu::GpuKind;
    use common::unit::Bytes;

    fn two(driver: &str, link: GpuPath) -> GpuInventory {
        let gpu = |place| Gpu {
            index: index(place),
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
    fn gpus_of_two_vendors_are_in_one_list_and_far_from_each_other() {
        let both = two("a", GpuPath::NvLink(4)).and(two("b", GpuPath::Pix));
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
