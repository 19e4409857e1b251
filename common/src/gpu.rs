//! What a GPU is and how GPUs of one node are linked. Never talks to a driver: kantd fills this in.

pub mod mig;

use crate::cpuset::CpuSet;
use crate::gpu::mig::MigDevice;
use crate::id::GpuIndex;
use crate::unit::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The short name users ask for, from the model: `h100`, `v100`, `a40`. Lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuKind(pub String);

impl GpuKind {
    /// The kind in a vendor's model name: the first word that mixes letters and digits
    /// ("NVIDIA H100 80GB HBM3" is `h100`, "Tesla V100-SXM2-32GB" is `v100`, "NVIDIA RTX A6000"
    /// is `a6000`), without a size such as `80GB`; the last word if there is none.
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

/// Where the minors of render devices begin (Linux, Documentation/gpu/drm-uapi). Those that
/// NVIDIA's driver numbers stay below: it knows 32 GPUs.
pub const RENDER_MINOR_MIN: u32 = 128;

/// One GPU of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// Its number on the node, for ever: no other GPU there gets it. The numbers of a node's list
    /// rise, and have holes where a GPU is lost.
    pub index: GpuIndex,
    /// The vendor's unique id (`GPU-...`, of a MIG device `MIG-...`), given to jobs in
    /// CUDA_VISIBLE_DEVICES.
    pub uuid: String,
    /// The vendor's model name.
    pub model: String,
    /// The short name users ask for.
    pub kind: GpuKind,
    pub memory: Bytes,
    /// The N of /dev/nvidiaN, or, from [`RENDER_MINOR_MIN`] on, of /dev/dri/renderDN; what cgroup
    /// device rules need. Neither the index nor the PCI order.
    pub minor: u32,
    /// PCI address, `0000:1b:00.0`.
    pub pci_bus_id: String,
    /// The NUMA node it hangs on, where known.
    pub numa: Option<u16>,
    /// The CPUs near it; empty where unknown.
    pub cpus: CpuSet,
    /// What it is a MIG device of; `None`: it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mig: Option<MigDevice>,
}

impl Gpu {
    /// Do programs reach it by a render device (AMD), and not by a device of NVIDIA's?
    #[must_use]
    pub const fn has_render_device(&self) -> bool {
        self.minor >= RENDER_MINOR_MIN
    }
}

/// How two GPUs reach each other, nearest first (the words of `nvidia-smi topo -m`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum GpuPath {
    Own,
    /// So many NVLinks, directly or through NVSwitch.
    NvLink(u8),
    Pix,
    Pxb,
    /// A PCIe host bridge.
    Phb,
    /// Host bridges of one NUMA node.
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

/// The path between every two GPUs of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GpuMatrix {
    /// `paths[i][j]` for GPU indices i and j; square, symmetric, `Own` on the diagonal. `Sys`
    /// elsewhere in the row of an index that no GPU has.
    pub paths: Vec<Vec<GpuPath>>,
}

impl GpuMatrix {
    /// The path between two GPUs; `Sys` for indices the matrix does not know.
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
