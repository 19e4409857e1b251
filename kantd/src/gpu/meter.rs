//! Usage of GPUs at one moment: how busy they are, their memory in use, and the energy used so far.
//! A small trait, so that accounting does not depend on vendors.

use super::amd::AmdMeter;
use super::nvml;
use common::causes::with_causes;
use common::unit::Bytes;
use nvml_wrapper::Nvml;
use nvml_wrapper::enums::device::UsedGpuMemory;
use std::collections::BTreeSet;
use std::path::Path;

/// One reading of one GPU. `None` where the driver does not report a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GpuReading {
    /// The share of the last moment in which it worked, in percent.
    pub busy_percent: Option<u32>,
    /// Memory in use by all processes.
    pub memory_used: Option<Bytes>,
    /// Energy used since the driver was loaded.
    pub energy_millijoules: Option<u64>,
}

/// A reader of GPU usage.
pub trait GpuMeter: Send {
    /// Reads the GPU with this id; `None` if it does not answer. Takes some milliseconds, or hangs
    /// with the driver: not for async threads.
    fn read(&self, uuid: &str) -> Option<GpuReading>;

    /// The memory that these processes use on a GPU; `None` if the driver does not report it.
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
        sum_if_all_known(theirs.map(|process| process.used_gpu_memory))
    }
}

/// The sum; `None` if one amount is unknown, because a sum that is too small would pass for a share
/// that is kept to.
fn sum_if_all_known(used: impl Iterator<Item = UsedGpuMemory>) -> Option<Bytes> {
    let bytes = used.map(|used| match used {
        UsedGpuMemory::Used(bytes) => Some(bytes),
        UsedGpuMemory::Unavailable => None,
    });
    bytes.sum::<Option<u64>>().map(Bytes)
}

/// The first meter that knows a GPU.
struct Meters(Vec<Box<dyn GpuMeter>>);

impl GpuMeter for Meters {
    fn read(&self, uuid: &str) -> Option<GpuReading> {
        self.0.iter().find_map(|meter| meter.read(uuid))
    }

    fn memory_of(&self, uuid: &str, pids: &BTreeSet<u32>) -> Option<Bytes> {
        self.0.iter().find_map(|meter| meter.memory_of(uuid, pids))
    }
}

/// A meter for this machine's GPUs, with the library at `library` or the loader's default.
///
/// # Errors
/// A sentence that says why there is none.
pub fn open(library: Option<&Path>) -> Result<Box<dyn GpuMeter>, String> {
    let amd = AmdMeter::open(Path::new("/")).map(|meter| Box::new(meter) as Box<dyn GpuMeter>);
    match (nvml::open(library), amd) {
        (Ok(Some(nvml)), amd) => {
            let nvml: Box<dyn GpuMeter> = Box::new(NvmlMeter(nvml));
            Ok(Box::new(Meters(std::iter::once(nvml).chain(amd).collect())))
        }
        (_, Some(amd)) => Ok(amd),
        (Ok(None), None) => Err("the GPU library is missing".to_owned()),
        (Err(error), None) => Err(with_causes(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreported_memory_does_not_count_as_unused() {
        let used = |mib: u64| UsedGpuMemory::Used(mib << 20);
        assert_eq!(sum_if_all_known([used(3), used(4)].into_iter()), Some(Bytes::from_mib(7)));
        assert_eq!(sum_if_all_known([used(3), UsedGpuMemory::Unavailable].into_iter()), None);
        assert_eq!(
            sum_if_all_known(std::iter::empty()),
            Some(Bytes::ZERO),
            "it has no process there"
        );
    }
}
