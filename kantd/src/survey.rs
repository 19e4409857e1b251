//! One look at the machine as the operator configured it: what it has, how jobs can be confined,
//! and what cannot be enforced. Changes nothing but for a probe cgroup, made and removed.

use crate::cgroup::{self, CgroupError, Place};
use crate::config::Settings;
use crate::container::{self, Offer};
use crate::features;
use crate::gpu::numbers::{GpuNumbers, NumbersError};
use crate::gpu::{self, GpuInventory};
use crate::inventory::{self, Host, InventoryError, KeptBack};
use crate::logging::with_causes;
use crate::step;
use common::health::Check;
use common::id::GpuIndex;
use common::node::Inventory;
use node::Sign;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Survey {
    /// What the node offers, and what it cannot enforce.
    pub inventory: Inventory,
    /// How steps are confined.
    pub cgroup: Place,
    /// Whether jobs may run in containers.
    pub containers: Offer,
    /// The directories that steps can have for themselves, as the kernel names them.
    pub private_dirs: Vec<PathBuf>,
    /// The numbers of its GPUs, to be kept before anybody hears of them.
    pub gpu_numbers: GpuNumbers,
    /// What is wrong as long as kantd has not looked again, at its next start.
    pub signs: Vec<Sign>,
}

/// Why the machine cannot be used as configured.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// cgroups are required and cannot be had.
    #[error(transparent)]
    Cgroup(#[from] CgroupError),
    /// Its CPUs or memory cannot be read, or are not what the operator believes.
    #[error(transparent)]
    Inventory(#[from] InventoryError),
    /// Its GPUs cannot be told from those that were here before.
    #[error(transparent)]
    Numbers(#[from] NumbersError),
}

/// Looks at this machine. Takes up to some seconds where the GPU driver has to start first: never
/// call it on an async thread.
///
/// # Errors
/// [`SurveyError`].
pub fn survey(settings: &Settings) -> Result<Survey, SurveyError> {
    let confinement = cgroup::detect(settings.cgroup, &settings.cgroup_root)?;
    let mut missing = confinement.missing;
    if !nix::unistd::geteuid().is_root() {
        missing.push("jobs of other users: kantd does not run as root".to_owned());
    }
    let private_dirs = step::usable_private_dirs(&settings.private_dirs, &mut missing);
    step::try_out(&mut missing);
    let containers = container::look(&settings.containers);
    if let Offer::Refused(why) = &containers {
        missing.push(format!("jobs with --container: {why}"));
    }
    let mut gpu_numbers = GpuNumbers::read(&settings.spool)?;
    let nvidia = gpus(settings, &mut missing);
    let mut gpus = match (nvidia, gpu::amd::discover(Path::new("/"))) {
        (Some(nvidia), Some(amd)) => Some(nvidia.and(amd)),
        (nvidia, amd) => nvidia.or(amd),
    };
    let signs = absent(&gpu_numbers, gpus.as_ref());
    if let Some(found) = &mut gpus {
        gpu_numbers.number(found);
    }
    let kept_back =
        KeptBack { only_cpus: settings.only_cpus.clone(), memory: settings.memory_kept_back };
    let mut inventory = inventory::take(&Host::here(), &kept_back, gpus, missing)?;
    inventory.features = features::of(&settings.features, &inventory);
    let cgroup = confinement.place;
    Ok(Survey { inventory, cgroup, containers, private_dirs, gpu_numbers, signs })
}

/// GPUs that were here before and are not found: without this a node would come back from a reboot
/// with fewer than its users count on, and nobody would know.
fn absent(numbers: &GpuNumbers, found: Option<&GpuInventory>) -> Vec<Sign> {
    let lost = numbers.lost(found);
    // The others' numbers change by it, and a job that has one goes by its number.
    let forget = format!(
        "if they were taken out for good: once no job has a GPU here, rm {} and restart kantd",
        numbers.path().display()
    );
    if !lost.is_empty() && found.is_none_or(|found| found.gpus.is_empty()) {
        let count = lost.len();
        let says = format!("none of the {count} GPUs that were here before is found; {forget}");
        return vec![Sign::new(Check::GpuDriver, says)];
    }
    let sign = |(number, uuid): (GpuIndex, String)| {
        let says = format!("GPU {number} ({uuid}): was here before and is not found; {forget}");
        Sign::new(Check::GpuLost, says)
    };
    lost.into_iter().map(sign).collect()
}

/// A library that is there and broken costs the node its GPUs, not its CPUs. None is no news,
/// unless the operator named it.
fn gpus(settings: &Settings, missing: &mut Vec<String>) -> Option<GpuInventory> {
    let library = settings.nvml_library.as_deref();
    match (gpu::nvml::discover(library), library) {
        (Ok(None), Some(library)) => {
            missing.push(format!("GPUs: there is no library {}", library.display()));
            None
        }
        (Ok(found), _) => found,
        (Err(error), _) => {
            missing.push(format!("GPUs: {}", with_causes(&error)));
            None
        }
    }
}
