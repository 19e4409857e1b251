//! What a GPU is doing at this moment: how busy it is, how much of its memory is in use, and how
//! much energy it has used so far. One small trait, so that accounting knows no vendor.
//! Never changes a GPU, and never adds anything up.

use super::amd::AmdMeter;
use super::nvml;
use crate::logging::with_causes;
use common::unit::Bytes;
use nvml_wrapper::Nvml;
use nvml_wrapper::enums::device::UsedGpuMemory;
use std::collections::BTreeSet;
use std::path::Path;

/// One look at one GPU. What its driver does not tell is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GpuReading {
    /// How much of the last moment it worked, in percent.
    pub busy_percent: Option<u32>,
    /// Memory in use, by whomever.
    pub memory_used: Option<Bytes>,
    /// Energy used since its driver was loaded.
    pub energy_millijoules: Option<u64>,
}

/// Whoever can look at GPUs.
pub trait GpuMeter: Send {
    /// Looks at the GPU of this id; `None`: it does not answer. Takes up to some milliseconds, or
    /// hangs with its driver: never to be called on an async thread.
    fn read(&self, uuid: &str) -> Option<GpuReading>;

    /// How much of a GPU's memory these processes have; `None`: its driver does not tell.
    fn memory_of(&self, uuid: &str, pids: &BTreeSet<u32>) -> Option<Bytes>;
}

struct NvmlMeter(Nvml);

impl GpuMeter for NvmlMeter {
    fn read(&self, uuid: &str) -> Option<GpuReading> {
        let device = self.0.device_by_uuid(uuid).ok()?;
        let reading = GpuReading {
            busy_percent: device.utilization_rates().ok().map(|rates| rates.gpu),
            memory_used: device.memory_info().ok().map(|memory| Bytes(memory.used)),
            energy_millijoules: device.total_energy_consumption().ok(),
        };
        (reading != GpuReading::default()).then_some(reading)
    }

    fn memory_of(&self, uuid: &str, pids: &BTreeSet<u32>) -> Option<Bytes> {
        let device = self.0.device_by_uuid(uuid).ok()?;
        let processes = device.running_compute_processes().ok()?;
        let theirs = processes.into_iter().filter(|process| pids.contains(&process.pid));
        sum(theirs.map(|process| process.used_gpu_memory))
    }
}

/// What several have; `None` where the driver does not tell it of all of them: too little would
/// pass for a share that is kept to.
fn sum(used: impl Iterator<Item = UsedGpuMemory>) -> Option<Bytes> {
    let bytes = used.map(|used| match used {
        UsedGpuMemory::Used(bytes) => Some(bytes),
        UsedGpuMemory::Unavailable => None,
    });
    bytes.sum::<Option<u64>>().map(Bytes)
}

/// By whichever of them knows a GPU.
struct Meters(Vec<Box<dyn GpuMeter>>);

impl GpuMeter for Meters {
    fn read(&self, uuid: &str) -> Option<GpuReading> {
        self.0.iter().find_map(|meter| meter.read(uuid))
    }

    fn memory_of(&self, uuid: &str, pids: &BTreeSet<u32>) -> Option<Bytes> {
        self.0.iter().find_map(|meter| meter.memory_of(uuid, pids))
    }
}

/// A meter for this machine's GPUs, with the library at `library` or the loader's.
///
/// # Errors
/// Why there is none, in words.
pub fn open(library: Option<&Path>) -> Result<Box<dyn GpuMeter>, String> {
    let amd = AmdMeter::open(Path::new("/")).map(|meter| Box::new(meter) as Box<dyn GpuMeter>);
    match (nvml::open(library), amd) {
        (Ok(Some(nvml)), amd) => {
            let nvml: Box<dyn GpuMeter> = Box::new(NvmlMeter(nvml));
            Ok(Box::new(Meters(std::iter::once(nvml).chain(amd).collect())))
        }
        (_, Some(amd)) => Ok(amd),
        (Ok(None), None) => Err("the GPU library is gone".to_owned()),
        (Err(error), None) => Err(with_causes(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_a_driver_does_not_tell_is_not_none_in_use() {
        let told = |mib: u64| UsedGpuMemory::Used(mib << 20);
        assert_eq!(sum([told(3), told(4)].into_iter()), Some(Bytes::from_mib(7)));
        assert_eq!(sum([told(3), UsedGpuMemory::Unavailable].into_iter()), None);
        assert_eq!(sum(std::iter::empty()), Some(Bytes::ZERO), "none of its processes is there");
    }
}
