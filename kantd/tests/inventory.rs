//! Inventories of other machines, whose /sys and /proc are kept as text files.

use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath};
use common::id::GpuIndex;
use common::node::{Inventory, Numa};
use common::unit::Bytes;
use kantd::gpu::{GpuInventory, SkippedGpu};
use kantd::inventory::{Host, InventoryError, KeptBack, read, show};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Unpacks a machine from tests/fixtures, where lines `== path` each begin a file.
fn machine(name: &str) -> (TempDir, Host) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let text = fs::read_to_string(fixtures.join(format!("{name}.txt"))).unwrap();
    let root = tempfile::tempdir().unwrap();
    for file in text.split("== ").skip(1) {
        let (path, content) = file.split_once('\n').unwrap();
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let host = Host::at(root.path());
    (root, host)
}

fn cpus(text: &str) -> CpuSet {
    text.parse().unwrap()
}

fn inventory_of(name: &str, kept_back: &KeptBack) -> Result<Inventory, InventoryError> {
    let (_root, host) = machine(name);
    read(&host, kept_back, None, vec![])
}

#[test]
fn two_sockets_with_smt_are_listed_by_core() {
    let found = inventory_of("two-sockets-smt", &KeptBack::default()).unwrap();
    assert_eq!((found.sockets, found.threads_per_core), (2, 2));
    assert_eq!(found.cpus, cpus("0-7"));
    assert_eq!(found.cores, [cpus("0,4"), cpus("1,5"), cpus("2,6"), cpus("3,7")]);
    assert_eq!(found.memory, Bytes(65_798_000 << 10));
    let numa = |id, list| Numa { id, cpus: cpus(list), memory: Bytes(32_899_000 << 10) };
    assert_eq!(found.numa, [numa(0, "0-1,4-5"), numa(1, "2-3,6-7")]);
    assert_eq!(found.boot_id, "7f4a1c9e-0000-4000-8000-1234567890ab");
    assert_eq!((found.gpus.len(), found.gpu_driver), (0, None));
}

#[test]
fn withheld_resources_are_not_offered() {
    let kept_back = KeptBack { only_cpus: Some(cpus("1-3,5-7")), memory: Bytes(798_000 << 10) };
    let found = inventory_of("two-sockets-smt", &kept_back).unwrap();
    assert_eq!(found.cpus, cpus("1-3,5-7"));
    assert_eq!(found.cores, [cpus("1,5"), cpus("2,6"), cpus("3,7")]);
    assert_eq!(found.memory, Bytes(65_000_000 << 10));

    // With one thread of a core withheld, the core has one thread left for jobs.
    let kept_back = KeptBack { only_cpus: Some(cpus("0,4-5")), memory: Bytes(0) };
    let found = inventory_of("two-sockets-smt", &kept_back).unwrap();
    assert_eq!(found.cores, [cpus("0,4"), cpus("5")]);
}

#[test]
fn withholding_what_does_not_exist_is_refused_by_name() {
    let kept_back = KeptBack { only_cpus: Some(cpus("6-9")), memory: Bytes(0) };
    let message = inventory_of("two-sockets-smt", &kept_back).unwrap_err().to_string();
    assert!(message.contains("8-9") && message.contains("0-7"), "{message}");

    let kept_back = KeptBack { only_cpus: None, memory: Bytes(1 << 40) };
    let message = inventory_of("two-sockets-smt", &kept_back).unwrap_err().to_string();
    assert!(message.contains("memory_kept_back"), "{message}");
}

#[test]
fn a_virtual_machine_without_numa_or_packages_is_one_node_and_one_socket() {
    let found = inventory_of("one-socket-vm", &KeptBack::default()).unwrap();
    assert_eq!((found.sockets, found.threads_per_core), (1, 1));
    assert_eq!(found.cpus, cpus("0-2"), "kantd itself may not use CPU 3");
    assert_eq!(found.cores, [cpus("0"), cpus("1"), cpus("2")]);
    let all = Numa { id: 0, cpus: cpus("0-3"), memory: Bytes(8_000_000 << 10) };
    assert_eq!(found.numa, [all]);

    // The operator's setting overrides kantd's own binding.
    let kept_back = KeptBack { only_cpus: Some(cpus("1-3")), memory: Bytes(0) };
    assert_eq!(inventory_of("one-socket-vm", &kept_back).unwrap().cpus, cpus("1-3"));
}

#[test]
fn broken_files_are_named() {
    let (root, host) = machine("one-socket-vm");
    fs::write(root.path().join("proc/meminfo"), "nothing\n").unwrap();
    let message = read(&host, &KeptBack::default(), None, vec![]).unwrap_err().to_string();
    assert!(message.contains("proc/meminfo") && message.contains("`nothing`"), "{message}");
    fs::remove_file(root.path().join("proc/meminfo")).unwrap();
    let error = read(&host, &KeptBack::default(), None, vec![]).unwrap_err();
    assert!(matches!(error, InventoryError::Read { .. }), "{error}");
}

#[test]
fn this_machine_can_be_inventoried() {
    let found = read(&Host::here(), &KeptBack::default(), None, vec![]).unwrap();
    assert!(!found.cpus.is_empty() && found.memory > Bytes::from_mib(1));
    let together = found.cores.iter().fold(CpuSet::new(), |all, core| all.union(core));
    assert_eq!(together, found.cpus, "the cores together are the offered CPUs");
    assert_eq!(found.boot_id.len(), 36);
}

fn gpu(index: u16, minor: u32, numa: u16, list: &str) -> Gpu {
    Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{index}"),
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        kind: GpuKind("h100".to_owned()),
        memory: Bytes(80 << 30),
        minor,
        pci_bus_id: format!("0000:{index}b:00.0"),
        numa: Some(numa),
        cpus: cpus(list),
        mig: None,
    }
}

#[test]
fn an_inventory_is_shown_as_text() {
    let (_root, host) = machine("two-sockets-smt");
    let (own, link) = (GpuPath::Own, GpuPath::NvLink(18));
    let gpus = GpuInventory {
        driver: "570.86.10".to_owned(),
        gpus: vec![gpu(0, 1, 0, "0-1,4-5"), gpu(1, 0, 1, "2-3,6-7")],
        matrix: GpuMatrix { paths: vec![vec![own, link], vec![link, own]] },
        skipped: vec![SkippedGpu {
            driver_index: 2,
            uuid: None,
            reason: "it fell off the bus".to_owned(),
        }],
    };
    let unprivileged = vec!["no cgroups: not root".to_owned()];
    let found = read(&host, &KeptBack::default(), Some(gpus), unprivileged).unwrap();
    assert_eq!(show(&found), include_str!("fixtures/two-sockets-smt.shown"));
}
