//! Probe of the machine as configured: its inventory, how jobs can be confined, and what cannot be
//! enforced. Changes nothing but a probe cgroup, which is removed, and as root it loads the kernel
//! module that CUDA needs.

use crate::cgroup::{self, CgroupError, CgroupParent};
use crate::config::Settings;
use crate::container_support::{self, Offer};
use crate::features;
use crate::gpu::numbers::{GpuNumbers, NumbersError};
use crate::gpu::{self, GpuInventory};
use crate::inventory::{self, Host, InventoryError, KeptBack};
use crate::step;
use common::causes::with_causes;
use common::health::Check;
use common::id::GpuIndex;
use common::node::Inventory;
use node::Symptom;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct NodeProbe {
    /// What the node offers, and what it cannot enforce.
    pub inventory: Inventory,
    pub cgroup: CgroupParent,
    pub containers: Offer,
    /// The directories that steps can have their own of, as canonical paths.
    pub private_dirs: Vec<PathBuf>,
    /// The numbers of its GPUs, to be written before they are used.
    pub gpu_numbers: GpuNumbers,
    /// Symptoms that last until kantd restarts.
    pub symptoms: Vec<Symptom>,
}

/// A machine that cannot be used as configured.
#[derive(Debug, thiserror::Error)]
pub enum NodeProbeError {
    #[error(transparent)]
    Cgroup(#[from] CgroupError),
    #[error(transparent)]
    Inventory(#[from] InventoryError),
    #[error(transparent)]
    Numbers(#[from] NumbersError),
}

/// Probes this machine. Takes some seconds if the GPU driver has to start first: not for async
/// threads.
///
/// # Errors
/// [`NodeProbeError`].
pub fn probe_node(settings: &Settings) -> Result<NodeProbe, NodeProbeError> {
    let confinement = cgroup::detect(settings.cgroup, &settings.cgroup_root)?;
    let mut missing = confinement.missing;
    if !nix::unistd::geteuid().is_root() {
        missing.push("jobs of other users: kantd does not run as root".to_owned());
    }
    let private_dirs = step::usable_private_dirs(&settings.private_dirs, &mut missing);
    step::check_support(&mut missing);
    let containers = container_support::detect(&settings.containers);
    if let Offer::Refused(why) = &containers {
        missing.push(format!("jobs with --container: {why}"));
    }
    let mut gpu_numbers = GpuNumbers::read(&settings.spool)?;
    let nvidia = gpus(settings, &mut missing);
    let mut gpus = match (nvidia, gpu::amd::discover(Path::new("/"))) {
        (Some(nvidia), Some(amd)) => Some(nvidia.merge_vendor(amd)),
        (nvidia, amd) => nvidia.or(amd),
    };
    if nix::unistd::geteuid().is_root() {
        missing.extend(gpu::uvm::make_device(Path::new("/"), "nvidia-modprobe"));
    }
    let symptoms = missing_gpus(&gpu_numbers, gpus.as_ref());
    if let Some(found) = &mut gpus {
        gpu_numbers.assign_numbers(found);
    }
    let kept_back =
        KeptBack { only_cpus: settings.only_cpus.clone(), memory: settings.memory_kept_back };
    let mut inventory = inventory::read(&Host::here(), &kept_back, gpus, missing)?;
    inventory.features = features::node_features(&settings.features, &inventory);
    let cgroup = confinement.parent;
    Ok(NodeProbe { inventory, cgroup, containers, private_dirs, gpu_numbers, symptoms })
}

/// Symptoms for GPUs that were here before and are not found. Without them a node could come back
/// from a reboot with fewer GPUs, unnoticed.
fn missing_gpus(numbers: &GpuNumbers, found: Option<&GpuInventory>) -> Vec<Symptom> {
    let lost = numbers.lost(found);
    // Removing the file changes the other GPUs' numbers, by which running jobs refer to them.
    let forget = format!(
        "if they were removed for good: when no job has a GPU here, rm {} and restart kantd",
        numbers.path().display()
    );
    if !lost.is_empty() && found.is_none_or(|found| found.gpus.is_empty()) {
        let count = lost.len();
        let says = format!("none of the {count} GPUs that were here before is found; {forget}");
        return vec![Symptom::new(Check::GpuDriver, says)];
    }
    let symptom = |(number, uuid): (GpuIndex, String)| {
        let says = format!("GPU {number} ({uuid}): was here before and is not found; {forget}");
        Symptom::new(Check::GpuLost, says)
    };
    lost.into_iter().map(symptom).collect()
}

/// The GPUs by NVML. A broken library costs the node its GPUs, not its CPUs; a missing one is
/// reported only if it is configured.
fn gpus(settings: &Settings, missing: &mut Vec<String>) -> Option<GpuInventory> {
    let library = settings.nvml_library.as_deref();
    match (gpu::nvml::discover(library), library) {
        (Ok(None), Some(library)) => {
            missing.push(format!("GPUs: the library {} does not exist", library.display()));
            None
        }
        (Ok(found), _) => found,
        (Err(error), _) => {
            missing.push(format!("GPUs: {}", with_causes(&error)));
            None
        }
    }
}
