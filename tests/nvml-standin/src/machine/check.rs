//! What a machine file must fulfil before anything answers from it. One sentence per refusal.

use super::{Gpu, Machine};
use crate::wiring;
use nvml_wrapper_sys::bindings::NVML_NVLINK_MAX_LINKS;
use std::collections::BTreeSet;

/// More GPUs than any machine, and few enough for a handle.
const GPU_COUNT_MAX: usize = 64;
/// The most NVLinks that NVML counts on one GPU.
const LINK_COUNT_MAX: usize = NVML_NVLINK_MAX_LINKS as usize;

/// The first thing that is wrong, in words.
pub fn check(machine: &Machine) -> Result<(), String> {
    if machine.gpus.len() > GPU_COUNT_MAX {
        return Err(format!("{} GPUs are more than {GPU_COUNT_MAX}", machine.gpus.len()));
    }
    for (index, gpu) in machine.gpus.iter().enumerate() {
        check_gpu(gpu).map_err(|what| format!("gpu {index}: {what}"))?;
    }
    check_distinct("gpu", "uuid", machine.gpus.iter().map(|gpu| &gpu.uuid))?;
    check_distinct("gpu", "minor number", machine.gpus.iter().map(|gpu| &gpu.minor))?;
    check_distinct("gpu", "PCI address", machine.gpus.iter().map(|gpu| &gpu.pci))?;
    check_links(machine)?;
    let switches = (0..machine.switch_links.len()).map(wiring::switch_address);
    if let Some(taken) =
        switches.into_iter().find(|s| machine.gpus.iter().any(|g| g.pci == Some(*s)))
    {
        return Err(format!("a GPU at {taken}, where the stand-in puts an NVSwitch"));
    }
    match machine.xids.iter().find(|xid| xid.gpu >= machine.gpus.len()) {
        Some(xid) => Err(format!("xid {} names gpu {}, which is not there", xid.code, xid.gpu)),
        None => Ok(()),
    }
}

fn check_gpu(gpu: &Gpu) -> Result<(), String> {
    let needed = [
        ("model", gpu.model.is_some()),
        ("memory_mib", gpu.memory_mib.is_some()),
        ("pci", gpu.pci.is_some()),
    ];
    if let Some((name, _)) = needed.iter().find(|(_, there)| !there) {
        return Err(format!("`{name}` is missing"));
    }
    let total = gpu.memory_mib.unwrap_or(0);
    if gpu.used_mib(None) + gpu.reserved_mib.unwrap_or(0) > total {
        return Err(format!("its processes and `reserved_mib` need more than {total} MiB"));
    }
    check_mig(gpu)
}

fn check_mig(gpu: &Gpu) -> Result<(), String> {
    let capacity = gpu.mig_capacity.unwrap_or(0).min(255) as usize;
    if gpu.mig.is_some() && capacity == 0 {
        return Err("`mig` without `mig_capacity`".to_owned());
    }
    let slots: Vec<usize> = gpu.mig.iter().flatten().map(|mig| mig.slot).collect();
    if let Some(slot) = slots.iter().find(|slot| **slot >= capacity) {
        return Err(format!("MIG slot {slot} is beyond the capacity of {capacity}"));
    }
    check_distinct("MIG device", "slot", slots.iter())?;
    match gpu.processes.iter().find(|p| p.mig.is_some_and(|slot| gpu.mig_in(slot).is_none())) {
        Some(process) => Err(format!("process {} runs in no MIG device", process.pid)),
        None => Ok(()),
    }
}

fn check_links(machine: &Machine) -> Result<(), String> {
    let gpus = machine.gpus.len();
    if let Some((a, b, _)) = machine.nvlink.iter().find(|(a, b, _)| a == b || a.max(b) >= &gpus) {
        return Err(format!("nvlink from gpu {a} to gpu {b}: these are not two of {gpus} GPUs"));
    }
    let counts = machine.nvlink.iter().map(|(_, _, count)| count).chain(&machine.switch_links);
    if let Some(count) = counts.into_iter().find(|count| **count > LINK_COUNT_MAX) {
        return Err(format!("{count} NVLinks at once; a GPU has at most {LINK_COUNT_MAX}"));
    }
    for (index, links) in wiring::links(machine).iter().enumerate() {
        let links = links.len();
        if links > LINK_COUNT_MAX {
            return Err(format!("gpu {index} has {links} NVLinks; {LINK_COUNT_MAX} is the most"));
        }
        if let Some(down) = machine.gpus[index].down_links.iter().find(|down| **down >= links) {
            return Err(format!("gpu {index}: down link {down} is none of its {links} links"));
        }
    }
    Ok(())
}

fn check_distinct<T: Ord>(
    who: &str,
    what: &str,
    values: impl Iterator<Item = T>,
) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (position, value) in values.enumerate() {
        if !seen.insert(value) {
            return Err(format!("{who} {position} has the same {what} as one before it"));
        }
    }
    Ok(())
}
