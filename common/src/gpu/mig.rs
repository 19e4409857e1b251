//! MIG devices, into which NVIDIA's driver splits a GPU. Each is allocated as a GPU with a kind of
//! its own. Operators create them with `nvidia-smi mig`.

use crate::gpu::{Gpu, GpuKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The number of a character device.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct DeviceNumber {
    pub major: u32,
    pub minor: u32,
}

/// The data of a MIG device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigDevice {
    /// The id of the whole GPU (`GPU-...`), whose device node the MIG device uses as well.
    pub of: String,
    /// The other devices that its processes must be able to open: /dev/nvidia-caps devices of its
    /// GPU instance and its compute instance (NVIDIA's MIG user guide, "Device Nodes and
    /// Capabilities").
    pub capabilities: [DeviceNumber; 2],
}

impl GpuKind {
    /// The kind of a MIG device with this profile name: an `h100` with profile `1g.10gb+me` has the
    /// kind `h100-1g.10gb+me`.
    #[must_use]
    pub fn with_mig_profile(&self, profile: &str) -> Self {
        Self(format!("{}-{}", self.0, profile.to_ascii_lowercase()))
    }

    /// Is it a kind of MIG devices, as made by [`mig`](Self::with_mig_profile)? It ends in a number
    /// of compute slices and an amount of memory, such as `-3g.40gb`, and possibly a suffix.
    #[must_use]
    pub fn is_mig(&self) -> bool {
        // A profile may contain a hyphen itself: `1g.24gb-me`.
        self.0.match_indices('-').any(|(at, _)| is_profile(&self.0[at + 1..]))
    }
}

fn is_profile(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let memory = |rest: &str| rest.split_once("gb").is_some_and(|(size, _)| is_number(size));
    // `1c.3g.40gb`: a compute instance that is smaller than its GPU instance.
    let of_gpu = match text.split_once("c.") {
        Some((slices, rest)) if is_number(slices) => rest,
        _ => text,
    };
    let sizes = of_gpu.split_once("g.");
    sizes.is_some_and(|(slices, rest)| is_number(slices) && memory(rest))
}

/// Does a request for the kinds `named` accept a GPU of this kind? A request without a kind gets
/// whole GPUs, not MIG devices, which are up to seven times smaller.
#[must_use]
pub fn accepts<'k>(mut named: impl Iterator<Item = &'k GpuKind>, kind: &GpuKind) -> bool {
    match named.next() {
        None => !kind.is_mig(),
        Some(first) => first == kind || named.any(|other| other == kind),
    }
}

/// The ids of a job's GPUs on a node that CUDA receives. A CUDA process uses several whole GPUs,
/// but only the first listed MIG device, and no whole GPU listed after it. If there are both, only
/// whole GPUs are listed.
#[must_use]
pub fn cuda_visible_ids<'id>(ids: &[&'id str]) -> Vec<&'id str> {
    let is_mig = |id: &str| id.starts_with("MIG-");
    let has_whole = ids.iter().any(|id| !is_mig(id));
    ids.iter().copied().filter(|id| !(has_whole && is_mig(id))).collect()
}

impl Gpu {
    /// The id of the whole GPU: its own, or its parent's for a MIG device.
    #[must_use]
    pub fn whole_gpu_id(&self) -> &str {
        self.mig.as_ref().map_or(&self.uuid, |mig| &mig.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mig_device_has_a_kind_of_its_own_that_is_known_as_one() {
        let whole = GpuKind("h100".to_owned());
        assert_eq!(whole.with_mig_profile("3g.40gb").0, "h100-3g.40gb");
        for profile in ["1g.10gb", "1g.10gb+me", "7g.80gb", "1c.3g.40gb", "1G.5GB", "1g.24gb-me"] {
            assert!(whole.with_mig_profile(profile).is_mig(), "{profile}");
        }
    }

    #[test]
    fn a_mig_device_reads_as_written_and_a_gpu_without_mig_data_is_whole() {
        let mig = MigDevice {
            of: "GPU-0".to_owned(),
            capabilities: [21, 22].map(|minor| DeviceNumber { major: 511, minor }),
        };
        let text = r#"{"index":3,"uuid":"MIG-1","model":"NVIDIA H100","kind":"h100-1g.10gb",
            "memory":1,"minor":0,"pci_bus_id":"0000:01:00.0","numa":null,"cpus":"0-1"}"#;
        let gpu: Gpu = serde_json::from_str(text).unwrap();
        assert_eq!((&gpu.mig, gpu.whole_gpu_id()), (&None, "MIG-1"));
        let gpu = Gpu { mig: Some(mig), ..gpu };
        assert_eq!(gpu.whole_gpu_id(), "GPU-0");
        let packed = rmp_serde::to_vec_named(&gpu).unwrap();
        assert_eq!(rmp_serde::from_slice::<Gpu>(&packed).unwrap(), gpu);
    }

    #[test]
    fn cuda_sees_whole_gpus_if_there_are_any() {
        assert_eq!(cuda_visible_ids(&["MIG-1", "GPU-b", "MIG-2", "GPU-c"]), ["GPU-b", "GPU-c"]);
        assert_eq!(cuda_visible_ids(&["MIG-1", "MIG-2"]), ["MIG-1", "MIG-2"]);
        assert!(cuda_visible_ids(&[]).is_empty());
    }

    #[test]
    fn no_kind_of_a_whole_gpu_is_a_mig_devices() {
        for kind in ["h100", "gfx90a", "a100-80gb", "a100-sxm4-40gb", "h100-g.10gb", "-", ""] {
            assert!(!GpuKind(kind.to_owned()).is_mig(), "{kind}");
        }
    }
}
