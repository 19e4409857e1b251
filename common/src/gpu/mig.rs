//! MIG devices, which NVIDIA's driver cuts a GPU into: each is handed out as a GPU of a kind of its
//! own. Never cuts one; that is the operator's, with `nvidia-smi mig`.

use crate::gpu::{Gpu, GpuKind};
use serde::{Deserialize, Serialize};

/// A character device of the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeviceNumber {
    pub major: u32,
    pub minor: u32,
}

/// What makes a GPU a MIG device: one of those that another is cut into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigDevice {
    /// The id of the whole GPU (`GPU-...`). Its device node is this one's too.
    pub of: String,
    /// What its processes must be able to open besides: the /dev/nvidia-caps devices of its GPU
    /// instance and its compute instance (NVIDIA's MIG user guide, "Device Nodes and
    /// Capabilities").
    pub capabilities: [DeviceNumber; 2],
}

impl GpuKind {
    /// The kind of a MIG device of such a GPU, by the name of its profile: an `h100` cut by
    /// `1g.10gb+me` gives `h100-1g.10gb+me`.
    #[must_use]
    pub fn mig(&self, profile: &str) -> Self {
        Self(format!("{}-{}", self.0, profile.to_ascii_lowercase()))
    }

    /// Is it the kind of MIG devices, as [`mig`](Self::mig) makes it? So many slices of the
    /// processors, and so much memory: `-3g.40gb`, and maybe more behind it.
    #[must_use]
    pub fn is_mig(&self) -> bool {
        // A profile may have such a sign of its own: `1g.24gb-me`.
        self.0.match_indices('-').any(|(at, _)| is_profile(&self.0[at + 1..]))
    }
}

fn is_profile(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let memory = |rest: &str| rest.split_once("gb").is_some_and(|(size, _)| is_number(size));
    // `1c.3g.40gb`: a compute instance that is not all of its GPU instance.
    let of_gpu = match text.split_once("c.") {
        Some((slices, rest)) if is_number(slices) => rest,
        _ => text,
    };
    let sizes = of_gpu.split_once("g.");
    sizes.is_some_and(|(slices, rest)| is_number(slices) && memory(rest))
}

/// Is a GPU of this kind for somebody who named these kinds? Who named none gets whole GPUs, never
/// MIG devices: they would find a seventh of what they wrote for.
#[must_use]
pub fn accepts<'k>(mut named: impl Iterator<Item = &'k GpuKind>, kind: &GpuKind) -> bool {
    match named.next() {
        None => !kind.is_mig(),
        Some(first) => first == kind || named.any(|other| other == kind),
    }
}

/// Of a job's GPUs on a node, by their ids, those that CUDA is told. A process of CUDA's uses
/// several whole GPUs, but of MIG devices only the first that is listed, and none of the whole ones
/// behind it: where there are both, the whole ones are told.
#[must_use]
pub fn told_to_cuda<'id>(ids: &[&'id str]) -> Vec<&'id str> {
    let is_mig = |id: &str| id.starts_with("MIG-");
    let has_whole = ids.iter().any(|id| !is_mig(id));
    ids.iter().copied().filter(|id| !(has_whole && is_mig(id))).collect()
}

impl Gpu {
    /// The id of the whole GPU: its own, or that of the one it is a MIG device of.
    #[must_use]
    pub fn whole(&self) -> &str {
        self.mig.as_ref().map_or(&self.uuid, |mig| &mig.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mig_device_has_a_kind_of_its_own_that_is_known_as_one() {
        let whole = GpuKind("h100".to_owned());
        assert_eq!(whole.mig("3g.40gb").0, "h100-3g.40gb");
        for profile in ["1g.10gb", "1g.10gb+me", "7g.80gb", "1c.3g.40gb", "1G.5GB", "1g.24gb-me"] {
            assert!(whole.mig(profile).is_mig(), "{profile}");
        }
    }

    #[test]
    fn a_mig_device_is_read_as_it_was_written_and_a_gpu_of_before_is_whole() {
        let mig = MigDevice {
            of: "GPU-0".to_owned(),
            capabilities: [21, 22].map(|minor| DeviceNumber { major: 511, minor }),
        };
        let text = r#"{"index":3,"uuid":"MIG-1","model":"NVIDIA H100","kind":"h100-1g.10gb",
            "memory":1,"minor":0,"pci_bus_id":"0000:01:00.0","numa":null,"cpus":"0-1"}"#;
        let gpu: Gpu = serde_json::from_str(text).unwrap();
        assert_eq!((&gpu.mig, gpu.whole()), (&None, "MIG-1"));
        let gpu = Gpu { mig: Some(mig), ..gpu };
        assert_eq!(gpu.whole(), "GPU-0");
        let packed = rmp_serde::to_vec_named(&gpu).unwrap();
        assert_eq!(rmp_serde::from_slice::<Gpu>(&packed).unwrap(), gpu);
    }

    #[test]
    fn cuda_is_told_the_whole_ones_where_there_are_any() {
        assert_eq!(told_to_cuda(&["MIG-1", "GPU-b", "MIG-2", "GPU-c"]), ["GPU-b", "GPU-c"]);
        assert_eq!(told_to_cuda(&["MIG-1", "MIG-2"]), ["MIG-1", "MIG-2"]);
        assert!(told_to_cuda(&[]).is_empty());
    }

    #[test]
    fn no_kind_of_a_whole_gpu_is_a_mig_devices() {
        for kind in ["h100", "gfx90a", "a100-80gb", "a100-sxm4-40gb", "h100-g.10gb", "-", ""] {
            assert!(!GpuKind(kind.to_owned()).is_mig(), "{kind}");
        }
    }
}
