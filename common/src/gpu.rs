//! GPUs, and the links between the GPUs of one node. kantd fills them in.

pub mod mig;

use crate::cpuset::CpuSet;
use crate::gpu::mig::MigDevice;
use crate::id::GpuIndex;
use crate::unit::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The short name for users, derived from the model: `h100`, `v100`, `a40`. Lower case.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct GpuKind(pub String);

impl GpuKind {
    /// The kind in a vendor's model name: the first word that mixes letters and digits ("NVIDIA
    /// H100 80GB HBM3" is `h100`, "Tesla V100-SXM2-32GB" is `v100`, "NVIDIA RTX A6000" is `a6000`),
    /// without a size such as `80GB`; the last word if there is none.
    #[must_use]
    pub fn from_model(model: &str) -> Self {
        let words: Vec<String> = model
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|w| !w.is_empty())
            .map(str::to_ascii_lowercase)
            .collect();
        let names_a_chip = |w: &&String| {
            w.starts_with(|c: char| c.is_ascii_alphabetic())
                && w.chars().any(|c| c.is_ascii_digit())
        };
        let word = words.iter().find(names_a_chip).or(words.last());
        Self(word.cloned().unwrap_or_else(|| "gpu".to_owned()))
    }
}

impl fmt::Display for GpuKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The first minor of render devices (Linux, Documentation/gpu/drm-uapi). The minors of NVIDIA's
/// driver are lower, since it supports 32 GPUs.
pub const RENDER_MINOR_MIN: u32 = 128;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    /// Its permanent number on the node. The numbers in a node's list ascend, with gaps where a GPU
    /// is lost.
    pub index: GpuIndex,
    /// The vendor's unique id (`GPU-...`, or `MIG-...` for a MIG device), which jobs receive in
    /// CUDA_VISIBLE_DEVICES.
    pub uuid: String,
    pub model: String,
    /// The short name for users.
    pub kind: GpuKind,
    pub memory: Bytes,
    /// The N of /dev/nvidiaN or, from [`RENDER_MINOR_MIN`] on, of /dev/dri/renderDN, for device
    /// rules of cgroups. It is neither the index nor the PCI order.
    pub minor: u32,
    /// PCI address, `0000:1b:00.0`.
    pub pci_bus_id: String,
    /// Its NUMA node, if known.
    pub numa: Option<u16>,
    /// The CPUs near it; empty if unknown.
    pub cpus: CpuSet,
    /// Its MIG data; `None` for a whole GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mig: Option<MigDevice>,
}

impl Gpu {
    /// Is its device a render device (AMD) and not a device of NVIDIA's?
    #[must_use]
    pub const fn has_render_device(&self) -> bool {
        self.minor >= RENDER_MINOR_MIN
    }
}

/// The link between two GPUs, nearest first (the terms of `nvidia-smi topo -m`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum GpuPath {
    Own,
    /// The number of NVLinks, direct or through NVSwitch.
    NvLink(u8),
    Pix,
    Pxb,
    /// A PCIe host bridge.
    Phb,
    /// Several host bridges of one NUMA node.
    Node,
    Sys,
}

impl fmt::Display for GpuPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.pad("X"),
            Self::NvLink(links) => f.pad(&format!("NV{links}")),
            Self::Pix => f.pad("PIX"),
            Self::Pxb => f.pad("PXB"),
            Self::Phb => f.pad("PHB"),
            Self::Node => f.pad("NODE"),
            Self::Sys => f.pad("SYS"),
        }
    }
}

/// The links between all pairs of GPUs of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GpuMatrix {
    /// `paths[i][j]` for GPU indices i and j; square, symmetric, `Own` on the diagonal. Rows of
    /// unused indices are `Sys` elsewhere.
    pub paths: Vec<Vec<GpuPath>>,
}

impl GpuMatrix {
    /// The link between two GPUs; `Sys` for unknown indices.
    #[must_use]
    pub fn path(&self, a: GpuIndex, b: GpuIndex) -> GpuPath {
        let row = self.paths.get(usize::from(a.0));
        row.and_then(|r| r.get(usize::from(b.0))).copied().unwrap_or(GpuPath::Sys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_what_people_call_the_chip() {
        for (model, kind) in [
            ("NVIDIA H100 80GB HBM3", "h100"),
            ("Tesla V100-SXM2-32GB", "v100"),
            ("NVIDIA A40", "a40"),
            ("NVIDIA RTX A6000", "a6000"),
            ("NVIDIA L40S", "l40s"),
            ("NVIDIA GH200 480GB", "gh200"),
            ("NVIDIA GeForce RTX 4090", "4090"),
            ("", "gpu"),
        ] {
            assert_eq!(GpuKind::from_model(model).0, kind, "{model}");
        }
    }
}
