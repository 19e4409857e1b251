//! A stand-in machine opened through the unmodified nvml-wrapper, one at a time: the library and
//! the environment belong to the whole process.

#![allow(dead_code)] // Each test file takes what it needs.

#[path = "../../find.rs"]
pub mod find;

use nvml_wrapper::enum_wrappers::device::TopologyLevel;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{env, fs, process};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// An open machine; closed when dropped, before the next test may open one.
pub struct Machine {
    nvml: Nvml,
    _turn: MutexGuard<'static, ()>,
}

impl Deref for Machine {
    type Target = Nvml;
    fn deref(&self) -> &Nvml {
        &self.nvml
    }
}

/// Opens one of the machines that come with the crate.
pub fn open(name: &str) -> Machine {
    try_open(Some(&find::machine(name))).unwrap()
}

/// Opens the machine in a file, or none.
pub fn try_open(file: Option<&Path>) -> Result<Machine, NvmlError> {
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let library = find::library();
    // SAFETY: tests reach this one at a time, and nothing else in these test programs touches the
    // environment beside the library's init below.
    unsafe {
        match file {
            Some(file) => env::set_var(find::VARIABLE, file),
            None => env::remove_var(find::VARIABLE),
        }
    }
    let nvml = Nvml::builder().lib_path(library.as_os_str()).init()?;
    Ok(Machine { nvml, _turn: turn })
}

/// A machine file of a test's own, removed afterwards.
pub struct File(pub PathBuf);

impl File {
    pub fn new(test: &str, text: &str) -> Self {
        let name = format!("nvml-standin-{}-{test}.toml", process::id());
        let file = Self(env::temp_dir().join(name));
        file.write(text);
        file
    }

    /// One of the crate's machines with some lines changed: each of `changes` is looked for and
    /// must be there.
    pub fn changed(test: &str, machine: &str, changes: &[(&str, &str)]) -> Self {
        let mut text = fs::read_to_string(find::machine(machine)).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{machine} has no `{from}`");
            text = text.replacen(from, to, 1);
        }
        Self::new(test, &text)
    }

    /// Replaces the file whole, as an editor would.
    pub fn write(&self, text: &str) {
        let draft = self.0.with_extension("draft");
        fs::write(&draft, text).unwrap();
        fs::rename(&draft, &self.0).unwrap();
    }

    pub fn open(&self) -> Machine {
        try_open(Some(&self.0)).unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The GPUs of a machine.
pub fn gpus(nvml: &Nvml) -> Vec<Device<'_>> {
    (0..nvml.device_count().unwrap()).map(|i| nvml.device_by_index(i).unwrap()).collect()
}

/// The matrix of `nvidia-smi topo -m`, without its head, one row a GPU.
pub fn matrix(nvml: &Nvml) -> String {
    let gpus = gpus(nvml);
    let ends: Vec<BTreeMap<String, u32>> = gpus.iter().map(link_ends).collect();
    let row = |a: usize| {
        let cells = (0..gpus.len()).map(|b| cell(&gpus, &ends, a, b));
        cells.collect::<Vec<_>>().join(" ")
    };
    (0..gpus.len()).map(row).collect::<Vec<_>>().join("\n")
}

/// How many links are up, by the PCI address at their other end.
fn link_ends(gpu: &Device) -> BTreeMap<String, u32> {
    let mut ends = BTreeMap::new();
    for link in (0..18).map(|number| gpu.link_wrapper_for(number)) {
        if link.is_active().unwrap_or(false) {
            *ends.entry(link.remote_pci_info().unwrap().bus_id).or_default() += 1;
        }
    }
    ends
}

fn cell(gpus: &[Device], ends: &[BTreeMap<String, u32>], a: usize, b: usize) -> String {
    if a == b {
        return "X".to_owned();
    }
    let bus = |gpu: &Device| gpu.pci_info().unwrap().bus_id;
    let direct = ends[a].get(&bus(&gpus[b])).copied().unwrap_or(0);
    let through = |(end, links): (&String, &u32)| {
        let is_switch = gpus.iter().all(|gpu| bus(gpu) != *end);
        ends[b].get(end).filter(|_| is_switch).map(|others| *links.min(others))
    };
    let links = direct + ends[a].iter().filter_map(through).sum::<u32>();
    if links > 0 {
        return format!("NV{links}");
    }
    let other = gpus[b].nvml().device_by_index(u32::try_from(b).unwrap()).unwrap();
    let word = match gpus[a].topology_common_ancestor(other).unwrap() {
        TopologyLevel::Single => "PIX",
        TopologyLevel::Multiple => "PXB",
        TopologyLevel::HostBridge => "PHB",
        TopologyLevel::Node => "NODE",
        TopologyLevel::System => "SYS",
        TopologyLevel::Internal => "same board",
    };
    word.to_owned()
}

/// A table as written in a test: indentation and the width of gaps do not count.
pub fn table(text: &str) -> String {
    let row = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim().lines().map(row).collect::<Vec<_>>().join("\n")
}
