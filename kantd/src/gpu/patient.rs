//! Looks at the GPUs through NVML: lost ones, XIDs, uncorrectable errors, rows that wait to be
//! replaced, links that went down, slow-downs. Keeps the library open, for the driver tells of an
//! XID only those who listened when it happened. Never resets or changes a GPU.

use super::nvml;
use crate::health::Asked;
use crate::logging::with_causes;
use common::gpu::Gpu;
use common::health::Check;
use node::{Sign, broken_hardware};
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enum_wrappers::device::{EccCounter, MemoryError};
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, EventSet, Nvml};
use nvml_wrapper_sys::bindings::{
    NVML_GPU_FABRIC_STATE_COMPLETED, NVML_GPU_FABRIC_STATE_IN_PROGRESS,
    NVML_GPU_FABRIC_STATE_NOT_STARTED, NVML_NVLINK_MAX_LINKS, nvmlGpuFabricInfo_v3_t,
    nvmlReturn_enum_NVML_SUCCESS,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Looks whenever asked, until nobody asks any more. `gpus` are those that are offered.
pub fn attend(library: Option<PathBuf>, gpus: &[Gpu], asked: &Asked) {
    while asked.next() {
        let trouble = match nvml::open(library.as_deref()) {
            Ok(Some(nvml)) => return attend_with(&nvml, gpus, asked),
            Ok(None) => "the GPU library is gone".to_owned(),
            Err(error) => with_causes(&error),
        };
        asked.answer(vec![Sign::new(Check::GpuDriver, trouble)]);
    }
}

/// Answers what was asked before, then whatever is asked.
fn attend_with(nvml: &Nvml, gpus: &[Gpu], asked: &Asked) {
    let wholes = wholes(gpus).into_iter();
    let mut patients: Vec<Patient<'_>> =
        wholes.map(|(uuid, name)| Patient::new(nvml, uuid, name)).collect();
    loop {
        asked.answer(patients.iter_mut().flat_map(|patient| patient.look(nvml)).collect());
        if !asked.next() {
            return;
        }
    }
}

/// The whole GPUs of these, by their ids, and as people know them. One that is cut into MIG devices
/// is looked at once: what breaks breaks for all of them.
fn wholes(gpus: &[Gpu]) -> Vec<(&str, String)> {
    let mut wholes: Vec<&str> = Vec::new();
    for gpu in gpus {
        if !wholes.contains(&gpu.whole()) {
            wholes.push(gpu.whole());
        }
    }
    let named = wholes.into_iter().map(|uuid| {
        let of_it = gpus.iter().filter(|gpu| gpu.whole() == uuid);
        let numbers: Vec<String> = of_it.clone().map(|gpu| gpu.index.to_string()).collect();
        let name = match (of_it.clone().any(|gpu| gpu.mig.is_some()), numbers.as_slice()) {
            (true, [number]) => format!("GPU {number} (a part of {uuid})"),
            (true, _) => format!("GPUs {} (parts of {uuid})", numbers.join(",")),
            (false, _) => format!("GPU {} ({uuid})", numbers.join(",")),
        };
        (uuid, name)
    });
    named.collect()
}

struct Patient<'nvml> {
    /// As people know it.
    name: String,
    device: Result<Device<'nvml>, NvmlError>,
    /// Where its XIDs arrive, if its driver tells them.
    xids: Option<EventSet<'nvml>>,
    /// How often it told each that drains.
    xids_told: BTreeMap<u64, u64>,
    /// Its NVLinks that were up when it was first looked at.
    links: Vec<u32>,
    /// How often it was lost, and whether it is.
    lost: (u64, bool),
}

impl<'nvml> Patient<'nvml> {
    fn new(nvml: &'nvml Nvml, uuid: &str, name: String) -> Self {
        let device = nvml.device_by_uuid(uuid);
        let xids = device.as_ref().ok().and_then(|device| {
            let set = nvml.create_event_set().ok()?;
            device.register_events(EventTypes::CRITICAL_XID_ERROR, set).ok()
        });
        let links = device.as_ref().map(links_up).unwrap_or_default();
        Self { name, device, xids, xids_told: BTreeMap::new(), links, lost: (0, false) }
    }

    fn look(&mut self, nvml: &Nvml) -> Vec<Sign> {
        // First: a GPU that is lost has told why by an XID, and nothing else answers any more.
        let mut signs = self.xids();
        let device = match &self.device {
            Ok(device) => device,
            Err(error) => {
                signs.push(self.sign(Check::GpuLost, &format!("cannot be found: {error}")));
                return signs;
            }
        };
        if let Err(error @ (NvmlError::GpuLost | NvmlError::ResetRequired)) = device.memory_info() {
            let (times, before) = self.lost;
            self.lost = (times + u64::from(!before), true);
            signs.push(self.sign(Check::GpuLost, &error.to_string()).times(self.lost.0));
            return signs;
        }
        self.lost.1 = false;
        let errors = device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile);
        if let Ok(times @ 1..) = errors {
            signs.push(self.sign(Check::GpuEcc, "uncorrectable memory error").times(times));
        }
        signs.extend(rows(nvml, device).map(|says| self.sign(Check::GpuRows, says)));
        let up = links_up(device);
        for link in self.links.iter().filter(|link| !up.contains(link)) {
            signs.push(self.sign(Check::GpuLink, &format!("NVLink {link} is down")));
        }
        signs.extend(fabric(nvml, device).map(|says| self.sign(Check::GpuLink, says)));
        let slow = ThrottleReasons::HW_THERMAL_SLOWDOWN | ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN;
        if device.current_throttle_reasons().is_ok_and(|reasons| reasons.intersects(slow)) {
            signs.push(self.sign(Check::GpuThrottled, "slowed down: hot, or lacks power"));
        }
        signs
    }

    /// All that have arrived and mean that the GPU must be reset; the others are only logged.
    fn xids(&mut self) -> Vec<Sign> {
        let mut signs = Vec::new();
        while let Some(Ok(event)) = self.xids.as_ref().map(|set| set.wait(0)) {
            let Some(XidError::Value(xid)) = event.event_data else { continue };
            match broken_hardware(xid) {
                Some(what) => {
                    let told = self.xids_told.entry(xid).or_default();
                    *told += 1;
                    let times = *told;
                    let says = format!("XID {xid}: {what}");
                    signs.push(self.sign(Check::GpuXid, &says).times(times));
                }
                None => tracing::info!("{}: XID {xid}: the GPU goes on", self.name),
            }
        }
        signs
    }

    fn sign(&self, check: Check, says: &str) -> Sign {
        Sign::new(check, format!("{}: {says}", self.name))
    }
}

/// Its NVLinks that are up.
fn links_up(device: &Device<'_>) -> Vec<u32> {
    let is_up = |link: &u32| device.link_wrapper_for(*link).is_active().unwrap_or(false);
    (0..NVML_NVLINK_MAX_LINKS).filter(is_up).collect()
}

/// What is wrong with the NVSwitch fabric that it is a part of: programs cannot start on such a GPU
/// before its fabric manager has set it up. Asked of the library itself: the wrapper (0.13) has no
/// method for it. Nothing, where the GPU is part of none, or the driver too old to tell.
fn fabric(nvml: &Nvml, device: &Device<'_>) -> Option<&'static str> {
    let ask = nvml.lib().nvmlDeviceGetGpuFabricInfoV.as_ref().ok()?;
    // SAFETY: numbers only, for which zero is a value.
    let mut info: nvmlGpuFabricInfo_v3_t = unsafe { std::mem::zeroed() };
    // The struct's size, and its version in the highest byte.
    info.version = u32::try_from(size_of::<nvmlGpuFabricInfo_v3_t>()).ok()? | 3 << 24;
    // SAFETY: the handle comes from this library, which stays loaded while `nvml` lives, and `info`
    // outlives the call.
    let code = unsafe { ask(device.handle(), (&raw mut info).cast()) };
    if code != nvmlReturn_enum_NVML_SUCCESS {
        return None;
    }
    match u32::from(info.state) {
        NVML_GPU_FABRIC_STATE_NOT_STARTED => {
            Some("its NVSwitch fabric was not started: does nvidia-fabricmanager run?")
        }
        NVML_GPU_FABRIC_STATE_IN_PROGRESS => Some("its NVSwitch fabric is being set up"),
        NVML_GPU_FABRIC_STATE_COMPLETED if info.status != nvmlReturn_enum_NVML_SUCCESS => {
            Some("its NVSwitch fabric could not be set up: see the log of nvidia-fabricmanager")
        }
        _ => None,
    }
}

/// What is wrong with its rows of memory. Asked of the library itself: the wrapper (0.13) has no
/// method for it.
fn rows(nvml: &Nvml, device: &Device<'_>) -> Option<&'static str> {
    let ask = nvml.lib().nvmlDeviceGetRemappedRows.as_ref().ok()?;
    let [mut corrected, mut uncorrected, mut pending, mut failed] = [0; 4];
    // SAFETY: the handle comes from this library, which stays loaded while `nvml` lives, and the
    // four numbers outlive the call.
    let code = unsafe {
        ask(
            device.handle(),
            &raw mut corrected,
            &raw mut uncorrected,
            &raw mut pending,
            &raw mut failed,
        )
    };
    match (code == nvmlReturn_enum_NVML_SUCCESS, pending, failed) {
        (true, _, 1..) => Some("a row of memory could not be replaced: it needs repair"),
        (true, 1.., _) => Some("a row of memory waits to be replaced: reset the GPU or reboot"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::cpuset::CpuSet;
    use common::gpu::GpuKind;
    use common::id::GpuIndex;
    use common::mig::{DeviceNumber, MigDevice};
    use common::unit::Bytes;

    #[test]
    fn a_gpu_that_is_cut_is_looked_at_once_and_named_by_the_numbers_of_its_mig_devices() {
        let gpu = |(index, (uuid, of)): (u16, (&str, Option<&str>))| Gpu {
            index: GpuIndex(index),
            uuid: uuid.to_owned(),
            model: String::new(),
            kind: GpuKind("h100".to_owned()),
            memory: Bytes(1),
            minor: 0,
            pci_bus_id: String::new(),
            numa: None,
            cpus: CpuSet::new(),
            mig: of.map(|of| MigDevice {
                of: of.to_owned(),
                capabilities: [1, 2].map(|minor| DeviceNumber { major: 509, minor }),
            }),
        };
        let found = [
            ("MIG-1", Some("GPU-a")),
            ("GPU-b", None),
            ("MIG-2", Some("GPU-a")),
            ("MIG-3", Some("GPU-c")),
        ];
        let gpus: Vec<Gpu> = (0..).zip(found).map(gpu).collect();
        let expected = [
            ("GPU-a", "GPUs 0,2 (parts of GPU-a)".to_owned()),
            ("GPU-b", "GPU 1 (GPU-b)".to_owned()),
            ("GPU-c", "GPU 3 (a part of GPU-c)".to_owned()),
        ];
        assert_eq!(wholes(&gpus), expected);
    }
}
