//! Health checks of GPUs through NVML: lost GPUs, XIDs, uncorrectable errors, pending row
//! remappings, failed links, throttling. The library stays open, because the driver reports XIDs
//! only to processes that listen when they occur.

use super::nvml;
use crate::probe_thread::ProbeRequests;
use common::causes::with_causes;
use common::gpu::Gpu;
use common::health::Check;
use node::{Symptom, hardware_fault_of_xid};
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

/// Answers requests until no more can come. `gpus` are the offered ones.
pub fn serve(library: Option<PathBuf>, gpus: &[Gpu], requests: &ProbeRequests) {
    while requests.wait_for_request() {
        let trouble = match nvml::open(library.as_deref()) {
            Ok(Some(nvml)) => return serve_with(&nvml, gpus, requests),
            Ok(None) => "the GPU library is missing".to_owned(),
            Err(error) => with_causes(&error),
        };
        requests.answer(vec![Symptom::new(Check::GpuDriver, trouble)]);
    }
}

/// Answers the pending request, then all further ones.
fn serve_with(nvml: &Nvml, gpus: &[Gpu], requests: &ProbeRequests) {
    let whole_gpus = whole_gpus(gpus).into_iter();
    let mut probes: Vec<GpuProbe<'_>> =
        whole_gpus.map(|(uuid, name)| GpuProbe::new(nvml, uuid, name)).collect();
    loop {
        requests.answer(probes.iter_mut().flat_map(|probe| probe.symptoms(nvml)).collect());
        if !requests.wait_for_request() {
            return;
        }
    }
}

/// The whole GPUs of these by id, with names for messages. A GPU with MIG devices is checked once,
/// because its faults affect all of them.
fn whole_gpus(gpus: &[Gpu]) -> Vec<(&str, String)> {
    let mut whole_gpus: Vec<&str> = Vec::new();
    for gpu in gpus {
        if !whole_gpus.contains(&gpu.whole_gpu_id()) {
            whole_gpus.push(gpu.whole_gpu_id());
        }
    }
    let named = whole_gpus.into_iter().map(|uuid| {
        let of_it = gpus.iter().filter(|gpu| gpu.whole_gpu_id() == uuid);
        let numbers: Vec<String> = of_it.clone().map(|gpu| gpu.index.to_string()).collect();
        let name = match (of_it.clone().any(|gpu| gpu.mig.is_some()), numbers.as_slice()) {
            (true, [number]) => format!("GPU {number} (a MIG device of {uuid})"),
            (true, _) => format!("GPUs {} (MIG devices of {uuid})", numbers.join(",")),
            (false, _) => format!("GPU {} ({uuid})", numbers.join(",")),
        };
        (uuid, name)
    });
    named.collect()
}

struct GpuProbe<'nvml> {
    /// The name in messages.
    name: String,
    device: Result<Device<'nvml>, NvmlError>,
    /// The source of its XIDs, if the driver reports them.
    xids: Option<EventSet<'nvml>>,
    /// Number of occurrences of each XID that needs care.
    xid_counts: BTreeMap<u64, u64>,
    /// NVLinks that were active at the first check.
    links: Vec<u32>,
    /// How many times it was lost, and whether it is lost now.
    lost: (u64, bool),
}

impl<'nvml> GpuProbe<'nvml> {
    fn new(nvml: &'nvml Nvml, uuid: &str, name: String) -> Self {
        let device = nvml.device_by_uuid(uuid);
        let xids = device.as_ref().ok().and_then(|device| {
            let set = nvml.create_event_set().ok()?;
            device.register_events(EventTypes::CRITICAL_XID_ERROR, set).ok()
        });
        let links = device.as_ref().map(links_up).unwrap_or_default();
        Self { name, device, xids, xid_counts: BTreeMap::new(), links, lost: (0, false) }
    }

    fn symptoms(&mut self, nvml: &Nvml) -> Vec<Symptom> {
        // First: a lost GPU has reported the reason by an XID, and answers nothing else any more.
        let mut symptoms = self.xids();
        let device = match &self.device {
            Ok(device) => device,
            Err(error) => {
                symptoms.push(self.symptom(Check::GpuLost, &format!("cannot be found: {error}")));
                return symptoms;
            }
        };
        if let Err(error @ (NvmlError::GpuLost | NvmlError::ResetRequired)) = device.memory_info() {
            let (times, before) = self.lost;
            self.lost = (times + u64::from(!before), true);
            symptoms.push(self.symptom(Check::GpuLost, &error.to_string()).with_count(self.lost.0));
            return symptoms;
        }
        self.lost.1 = false;
        let errors = device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile);
        if let Ok(times @ 1..) = errors {
            symptoms
                .push(self.symptom(Check::GpuEcc, "uncorrectable memory error").with_count(times));
        }
        symptoms.extend(
            memory_row_problem(nvml, device).map(|says| self.symptom(Check::GpuRows, says)),
        );
        let up = links_up(device);
        for link in self.links.iter().filter(|link| !up.contains(link)) {
            symptoms.push(self.symptom(Check::GpuLink, &format!("NVLink {link} is down")));
        }
        symptoms
            .extend(fabric_problem(nvml, device).map(|says| self.symptom(Check::GpuLink, says)));
        let slow = ThrottleReasons::HW_THERMAL_SLOWDOWN | ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN;
        if device.current_throttle_reasons().is_ok_and(|reasons| reasons.intersects(slow)) {
            symptoms
                .push(self.symptom(Check::GpuThrottled, "throttled: too hot, or too little power"));
        }
        symptoms
    }

    /// Symptoms of arrived XIDs after which the GPU needs care; others are only logged.
    fn xids(&mut self) -> Vec<Symptom> {
        let mut symptoms = Vec::new();
        while let Some(Ok(event)) = self.xids.as_ref().map(|set| set.wait(0)) {
            let Some(XidError::Value(xid)) = event.event_data else { continue };
            match hardware_fault_of_xid(xid) {
                Some(what) => {
                    let count = self.xid_counts.entry(xid).or_default();
                    *count += 1;
                    let times = *count;
                    let says = format!("XID {xid}: {what}");
                    symptoms.push(self.symptom(Check::GpuXid, &says).with_count(times));
                }
                None => tracing::info!("{}: XID {xid}: the GPU continues", self.name),
            }
        }
        symptoms
    }

    fn symptom(&self, check: Check, says: &str) -> Symptom {
        Symptom::new(check, format!("{}: {says}", self.name))
    }
}

/// The active NVLinks.
fn links_up(device: &Device<'_>) -> Vec<u32> {
    let is_up = |link: &u32| device.link_wrapper_for(*link).is_active().unwrap_or(false);
    (0..NVML_NVLINK_MAX_LINKS).filter(is_up).collect()
}

/// The problem of the GPU's NVSwitch fabric, if it is part of one: programs cannot start on the GPU
/// before the fabric manager has set the fabric up. Calls the library directly, because the wrapper
/// (0.13) has no method for it. None if the driver is too old to report it.
fn fabric_problem(nvml: &Nvml, device: &Device<'_>) -> Option<&'static str> {
    let ask = nvml.lib().nvmlDeviceGetGpuFabricInfoV.as_ref().ok()?;
    // SAFETY: a struct of numbers, for which all-zero is valid.
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
            Some("its NVSwitch fabric is not started: check nvidia-fabricmanager")
        }
        NVML_GPU_FABRIC_STATE_IN_PROGRESS => Some("its NVSwitch fabric is being set up"),
        NVML_GPU_FABRIC_STATE_COMPLETED if info.status != nvmlReturn_enum_NVML_SUCCESS => {
            Some("its NVSwitch fabric could not be set up: see the log of nvidia-fabricmanager")
        }
        _ => None,
    }
}

/// The problem of its memory rows. Calls the library directly, because the wrapper (0.13) has no
/// method for it.
fn memory_row_problem(nvml: &Nvml, device: &Device<'_>) -> Option<&'static str> {
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
        (true, _, 1..) => Some("a memory row could not be remapped: it needs repair"),
        (true, 1.., _) => Some("a memory row waits to be remapped: reset the GPU or reboot"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::cpuset::CpuSet;
    use common::gpu::GpuKind;
    use common::gpu::mig::{DeviceNumber, MigDevice};
    use common::id::GpuIndex;
    use common::unit::Bytes;

    #[test]
    fn a_gpu_with_mig_devices_is_checked_once_and_named_by_their_numbers() {
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
            ("GPU-a", "GPUs 0,2 (MIG devices of GPU-a)".to_owned()),
            ("GPU-b", "GPU 1 (GPU-b)".to_owned()),
            ("GPU-c", "GPU 3 (a MIG device of GPU-c)".to_owned()),
        ];
        assert_eq!(whole_gpus(&gpus), expected);
    }
}
