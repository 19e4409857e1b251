//! The GPUs of this machine: which there are, how they are linked, which cannot be offered and why.
//!
//! [`nvml`] asks NVIDIA's library, loaded at run time; [`numbers`] remembers which GPU has which
//! number; [`meter`] says what they are doing; `patient` looks whether they are well. Never decides
//! who gets a GPU, or what follows from their health.

pub mod meter;
pub mod numbers;
pub mod nvml;
pub(crate) mod patient;

use common::gpu::{Gpu, GpuMatrix};
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
    /// The GPUs that the driver counts and jobs cannot have.
    pub skipped: Vec<SkippedGpu>,
}

/// A GPU that is there and cannot be offered.
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
        /// The library.
        library: PathBuf,
        /// What it answers.
        source: NvmlError,
        /// What the operator can do.
        advice: &'static str,
    },
    /// The library runs and does not answer a question about the whole machine.
    #[error("failed to ask the GPU driver for {what}: {source}")]
    Ask {
        /// What was asked for.
        what: &'static str,
        /// What it answers.
        source: NvmlError,
    },
}
