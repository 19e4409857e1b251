//! Discovery of AMD GPUs from the files of the kernel's driver (Linux,
//! drivers/gpu/drm/amd/amdkfd/kfd_topology.c, and Documentation/gpu/amdgpu); no library is needed.
//! Paths are relative to a root, for tests.

mod health;

pub use health::symptoms;

use super::GpuInventory;
use super::meter::{GpuMeter, GpuReading};
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath, RENDER_MINOR_MIN};
use common::id::GpuIndex;
use common::unit::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Memory types that programs may use (`heap_type`): on the GPU, visible to the CPU or not.
const HEAPS: [u64; 2] = [1, 2];

/// AMD's own link between GPUs (`type` of an `io_links` entry).
const XGMI: u64 = 11;

/// A node of the driver's topology that is a GPU.
struct Node {
    number: u64,
    properties: BTreeMap<String, u64>,
    dir: PathBuf,
}

/// The machine's AMD GPUs; `None` if the kernel has none. A link between two is reported as an
/// `NVLink`, which means the same to placement.
#[must_use]
pub fn discover(root: &Path) -> Option<GpuInventory> {
    let nodes = list_gpu_nodes(root);
    if nodes.is_empty() {
        return None;
    }
    let gpus: Vec<Gpu> =
        (0..).map(GpuIndex).zip(&nodes).map(|(index, node)| describe(root, index, node)).collect();
    let version = read(&root.join("sys/module/amdgpu/version"));
    let driver = version.map_or_else(|| "amdgpu".to_owned(), |version| format!("amdgpu {version}"));
    let matrix = path_matrix(&nodes, &gpus);
    Some(GpuInventory { driver, gpus, matrix, skipped: Vec::new() })
}

/// The GPU nodes, by number. A node without a render device is a CPU or unusable.
fn list_gpu_nodes(root: &Path) -> Vec<Node> {
    let entries = fs::read_dir(root.join("sys/class/kfd/kfd/topology/nodes"));
    let node = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let dir = entry.path();
        let properties = parse_properties(&dir.join("properties"));
        let render = properties.get("drm_render_minor").copied().unwrap_or(0);
        let is_gpu = properties.get("simd_count").is_some_and(|count| *count > 0);
        let is_offered = is_gpu && render >= u64::from(RENDER_MINOR_MIN);
        is_offered.then_some(Node { number, properties, dir })
    };
    let mut nodes: Vec<Node> = entries.into_iter().flatten().flatten().filter_map(node).collect();
    nodes.sort_by_key(|node| node.number);
    nodes
}

/// Parses lines of a name and a number.
fn parse_properties(file: &Path) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.trim().split_once(' '));
    pairs.filter_map(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?))).collect()
}

fn read(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn describe(root: &Path, index: GpuIndex, node: &Node) -> Gpu {
    let property = |name: &str| node.properties.get(name).copied().unwrap_or(0);
    let minor = u32::try_from(property("drm_render_minor")).unwrap_or(u32::MAX);
    let (location, domain) = (property("location_id"), property("domain"));
    let (bus, device) = (location >> 8 & 0xff, location >> 3 & 0x1f);
    let pci_bus_id = format!("{domain:04x}:{bus:02x}:{device:02x}.{:x}", location & 7);
    let pci = root.join("sys/bus/pci/devices").join(&pci_bus_id);
    let model = read(&device_of(root, minor).join("product_name"));
    let model = model.unwrap_or_else(|| chip_name(property("gfx_target_version")));
    let uuid = match property("unique_id") {
        0 => format!("AMD-{pci_bus_id}"),
        id => format!("GPU-{id:016x}"),
    };
    Gpu {
        index,
        uuid,
        kind: GpuKind::from_model(&model),
        model: if model.starts_with("AMD") { model } else { format!("AMD {model}") },
        memory: Bytes(memory_of_node(&node.dir)),
        minor,
        numa: read(&pci.join("numa_node")).and_then(|node| node.parse().ok()),
        cpus: read(&pci.join("local_cpulist"))
            .and_then(|cpus| cpus.parse().ok())
            .unwrap_or_default(),
        pci_bus_id,
        mig: None,
    }
}

/// The chip's name from its decimal version: 90402 is gfx942 (the last two digits are hex).
fn chip_name(version: u64) -> String {
    let (major, minor, stepping) = (version / 10_000, version / 100 % 100, version % 100);
    format!("gfx{major}{minor:x}{stepping:x}")
}

fn device_of(root: &Path, minor: u32) -> PathBuf {
    root.join(format!("sys/class/drm/renderD{minor}/device"))
}

fn memory_of_node(node: &Path) -> u64 {
    let banks = fs::read_dir(node.join("mem_banks")).into_iter().flatten().flatten();
    let banks = banks.map(|bank| parse_properties(&bank.path().join("properties")));
    let on_gpu =
        banks.filter(|bank| bank.get("heap_type").is_some_and(|kind| HEAPS.contains(kind)));
    on_gpu.filter_map(|bank| bank.get("size_in_bytes").copied()).sum()
}

/// The paths between GPUs: their own links if they have any, else by NUMA node.
fn path_matrix(nodes: &[Node], gpus: &[Gpu]) -> GpuMatrix {
    let linked: Vec<BTreeMap<u64, u8>> = nodes.iter().map(links_by_node).collect();
    let mut paths = vec![vec![GpuPath::Own; gpus.len()]; gpus.len()];
    for a in 0..gpus.len() {
        for b in (0..gpus.len()).filter(|b| *b != a) {
            let links = linked[a].get(&nodes[b].number).max(linked[b].get(&nodes[a].number));
            paths[a][b] = match links {
                Some(links) => GpuPath::NvLink(*links),
                None if gpus[a].numa.is_some() && gpus[a].numa == gpus[b].numa => GpuPath::Node,
                None => GpuPath::Sys,
            };
        }
    }
    GpuMatrix { paths }
}

/// The number of links to each other node.
fn links_by_node(node: &Node) -> BTreeMap<u64, u8> {
    let mut links: BTreeMap<u64, u8> = BTreeMap::new();
    for entry in fs::read_dir(node.dir.join("io_links")).into_iter().flatten().flatten() {
        let link = parse_properties(&entry.path().join("properties"));
        if let (Some(&XGMI), Some(to)) = (link.get("type"), link.get("node_to")) {
            let count = links.entry(*to).or_default();
            *count = count.saturating_add(1);
        }
    }
    links
}

/// Usage of AMD GPUs, from the driver's files.
pub struct AmdMeter {
    devices: BTreeMap<String, PathBuf>,
}

impl AmdMeter {
    /// A meter for this machine; `None` if it has no AMD GPUs.
    #[must_use]
    pub fn open(root: &Path) -> Option<Self> {
        let gpus = discover(root)?.gpus;
        let device = |gpu: Gpu| (gpu.uuid, device_of(root, gpu.minor));
        Some(Self { devices: gpus.into_iter().map(device).collect() })
    }
}

impl GpuMeter for AmdMeter {
    fn read(&self, uuid: &str) -> Option<GpuReading> {
        let device = self.devices.get(uuid)?;
        let number = |file: &str| -> Option<u64> { read(&device.join(file))?.parse().ok() };
        let busy = number("gpu_busy_percent").and_then(|busy| u32::try_from(busy).ok());
        let memory_used = number("mem_info_vram_used").map(Bytes);
        let reading = GpuReading { busy_percent: busy, memory_used, energy_millijoules: None };
        (reading != GpuReading::default()).then_some(reading)
    }

    fn memory_of(&self, _uuid: &str, _pids: &BTreeSet<u32>) -> Option<Bytes> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with two linked GPUs and a third, in the driver's format.
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let nodes = "sys/class/kfd/kfd/topology/nodes";
        write(&format!("{nodes}/0/properties"), "cpu_cores_count 96\nsimd_count 0\n");
        for (node, render, bus, id) in
            [(1, 128, 0x05, 0x5ad0_be9d), (2, 129, 0x26, 7), (3, 130, 0x85, 0)]
        {
            let dir = format!("{nodes}/{node}");
            let location = bus << 8;
            write(
                &format!("{dir}/properties"),
                &format!(
                    "simd_count 1216\ngfx_target_version 90402\nlocation_id {location}\ndomain 0\n\
                     drm_render_minor {render}\nunique_id {id}\n"
                ),
            );
            let bank = |heap, bytes: u64| format!("heap_type {heap}\nsize_in_bytes {bytes}\n");
            write(&format!("{dir}/mem_banks/0/properties"), &bank(1, 206_141_652_992));
            write(&format!("{dir}/mem_banks/1/properties"), &bank(0, 1 << 40));
            let pci = format!("sys/bus/pci/devices/0000:{bus:02x}:00.0");
            write(&format!("{pci}/numa_node"), if node < 3 { "0\n" } else { "1\n" });
            write(&format!("{pci}/local_cpulist"), "0-47\n");
            let device = format!("sys/class/drm/renderD{render}/device");
            write(&format!("{device}/gpu_busy_percent"), "37\n");
            write(&format!("{device}/mem_info_vram_used"), "1048576\n");
        }
        let link = |kind, to| format!("type {kind}\nnode_to {to}\nweight 15\n");
        write(&format!("{nodes}/1/io_links/0/properties"), &link(2, 0));
        write(&format!("{nodes}/1/io_links/1/properties"), &link(11, 2));
        write(&format!("{nodes}/2/io_links/0/properties"), &link(11, 1));
        write("sys/class/drm/renderD128/device/product_name", "AMD Instinct MI300X OAM\n");
        write("sys/module/amdgpu/version", "6.8.5\n");
        root
    }

    #[test]
    fn gpus_are_read_with_their_names_memory_places_and_links() {
        let root = machine();
        let found = discover(root.path()).unwrap();
        assert_eq!(found.driver, "amdgpu 6.8.5");
        let [first, second, third] = found.gpus.as_slice() else { panic!("{:?}", found.gpus) };
        assert_eq!((first.kind.0.as_str(), first.minor), ("mi300x", 128));
        assert_eq!(first.uuid, "GPU-000000005ad0be9d");
        assert_eq!((first.pci_bus_id.as_str(), first.numa), ("0000:05:00.0", Some(0)));
        assert_eq!((first.memory, first.cpus.to_string()), (Bytes(206_141_652_992), "0-47".into()));
        assert_eq!((second.kind.0.as_str(), second.model.as_str()), ("gfx942", "AMD gfx942"));
        assert_eq!((third.uuid.as_str(), third.minor), ("AMD-0000:85:00.0", 130));
        let row = |row: usize| found.matrix.paths[row].iter().map(ToString::to_string);
        assert_eq!(row(0).collect::<Vec<_>>(), ["X", "NV1", "SYS"]);
        assert_eq!(row(1).collect::<Vec<_>>(), ["NV1", "X", "SYS"]);
    }

    #[test]
    fn a_machine_without_amd_gpus_has_none_and_usage_is_read() {
        assert_eq!(discover(tempfile::tempdir().unwrap().path()), None);
        let root = machine();
        let meter = AmdMeter::open(root.path()).unwrap();
        let reading = meter.read("GPU-000000005ad0be9d").unwrap();
        assert_eq!(reading.busy_percent, Some(37));
        assert_eq!(reading.memory_used, Some(Bytes::from_mib(1)));
        assert_eq!(meter.read("GPU-none"), None);
    }
}
