//! GPU discovery on stand-in machines: the code of real nodes with another library.

#![allow(clippy::unwrap_used)] // A panic is how a test reports.

#[path = "../../tests/nvml-standin/find.rs"]
mod standin;

use common::gpu::GpuMatrix;
use common::gpu::mig::{DeviceNumber, MigDevice};
use common::id::GpuIndex;
use common::sync::Mutex;
use kantd::gpu::numbers::GpuNumbers;
use kantd::gpu::nvml::{discover, discover_with};
use kantd::gpu::{GpuError, GpuInventory};
use std::path::{Path, PathBuf};
use std::{env, fs};
use tempfile::TempDir;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Discovers the machine in a file, with the kernel's files below a root.
fn discover_machine(file: &Path, root: &Path) -> Result<Option<GpuInventory>, GpuError> {
    let _turn = ONE_AT_A_TIME.lock();
    // SAFETY: tests run this one at a time, and nothing else in this program uses the environment
    // except the library's init below.
    unsafe { env::set_var(standin::VARIABLE, file) };
    discover_with(Some(&standin::library()), root)
}

/// Discovers one of the stand-in's machines, on a kernel without its PCI devices.
fn gpus_of(machine: &str) -> GpuInventory {
    let nowhere = TempDir::new().unwrap();
    discover_machine(&standin::machine(machine), nowhere.path()).unwrap().unwrap()
}

/// A copy of a stand-in's machine file with a text replaced.
fn changed(folder: &TempDir, machine: &str, from: &str, to: &str) -> PathBuf {
    let text = fs::read_to_string(standin::machine(machine)).unwrap();
    assert!(text.contains(from), "{machine} has no `{from}`");
    let file = folder.path().join("machine.toml");
    fs::write(&file, text.replacen(from, to, 1)).unwrap();
    file
}

/// The matrix as `nvidia-smi topo -m` prints it, without the header.
fn rows(matrix: &GpuMatrix) -> Vec<String> {
    let row = |row: &Vec<_>| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    matrix.paths.iter().map(row).collect()
}

/// A table as written in a test, whatever the width of the gaps.
fn table(text: &str) -> Vec<String> {
    let row = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim().lines().map(row).collect()
}

#[test]
fn a_dgx_h100_is_described_gpu_by_gpu() {
    let found = gpus_of("dgx-h100");
    assert_eq!(found.driver, "550.54.15");
    assert_eq!(found.skipped, []);
    let minors: Vec<u32> = found.gpus.iter().map(|gpu| gpu.minor).collect();
    assert_eq!(minors, [2, 3, 0, 1, 6, 7, 4, 5]);
    let indices: Vec<u16> = found.gpus.iter().map(|gpu| gpu.index.0).collect();
    assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 7]);
    let gpu = &found.gpus[5];
    assert_eq!(gpu.model, "NVIDIA H100 80GB HBM3");
    assert_eq!(gpu.kind.0, "h100");
    assert_eq!(gpu.memory.0, 81_559 << 20);
    assert_eq!(gpu.pci_bus_id, "0000:c3:00.0");
    assert_eq!(gpu.numa, Some(1));
    assert_eq!(gpu.cpus.to_string(), "56-111,168-223");
    assert!(gpu.uuid.starts_with("GPU-"), "{}", gpu.uuid);
    let row = |i| (0..8).map(|j| if i == j { "X" } else { "NV18" }).collect::<Vec<_>>().join(" ");
    assert_eq!(rows(&found.matrix), (0..8).map(row).collect::<Vec<_>>());
}

#[test]
fn a_dgx_1v_is_the_published_hybrid_cube_mesh() {
    let found = gpus_of("dgx-1v");
    let expected = table(
        "X   NV1 NV1 NV2 NV2 SYS SYS SYS
         NV1 X   NV2 NV1 SYS NV2 SYS SYS
         NV1 NV2 X   NV2 SYS SYS NV1 SYS
         NV2 NV1 NV2 X   SYS SYS SYS NV1
         NV2 SYS SYS SYS X   NV1 NV1 NV2
         SYS NV2 SYS SYS NV1 X   NV2 NV1
         SYS SYS NV1 SYS NV1 NV2 X   NV2
         SYS SYS SYS NV1 NV2 NV1 NV2 X",
    );
    assert_eq!(rows(&found.matrix), expected);
    assert!(found.gpus.iter().all(|gpu| gpu.kind.0 == "v100"));
}

#[test]
fn pcie_machines_have_pcie_paths() {
    let four = gpus_of("pcie-4");
    let expected = table(
        "X   PIX SYS SYS
         PIX X   SYS SYS
         SYS SYS X   PIX
         SYS SYS PIX X",
    );
    assert_eq!(rows(&four.matrix), expected);
    let numa: Vec<Option<u16>> = four.gpus.iter().map(|gpu| gpu.numa).collect();
    assert_eq!(numa, [Some(0), Some(0), Some(1), Some(1)]);

    let two = gpus_of("pcie-2");
    assert_eq!(rows(&two.matrix), table("X PHB\nPHB X"));
    assert_eq!(two.gpus[1].cpus.to_string(), "0-1");
}

#[test]
fn a_link_that_is_down_is_not_counted() {
    let folder = TempDir::new().unwrap();
    let to = "pci = \"0000:61:00.0\"\ndown_links = [4]";
    let file = changed(&folder, "dgx-h100", "pci = \"0000:61:00.0\"", to);
    let found = discover_machine(&file, folder.path()).unwrap().unwrap();
    let rows = rows(&found.matrix);
    assert_eq!(rows[0], "X NV18 NV18 NV17 NV18 NV18 NV18 NV18");
    assert_eq!(rows[3], "NV17 NV17 NV17 X NV17 NV17 NV17 NV17");
}

#[test]
fn the_kernels_numa_node_takes_precedence_over_nvmls() {
    let folder = TempDir::new().unwrap();
    for (address, node) in [("0000:01:00.0", "7\n"), ("0000:02:00.0", "-1\n")] {
        let device = folder.path().join("sys/bus/pci/devices").join(address);
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("numa_node"), node).unwrap();
    }
    let found = discover_machine(&standin::machine("pcie-4"), folder.path()).unwrap().unwrap();
    let numa: Vec<Option<u16>> = found.gpus.iter().map(|gpu| gpu.numa).collect();
    assert_eq!(numa, [Some(7), Some(0), Some(1), Some(1)], "-1 is the kernel's \"unknown\"");
}

#[test]
fn a_lost_gpu_is_skipped_and_the_others_stay() {
    let folder = TempDir::new().unwrap();
    let to = "pci = \"0000:02:00.0\"\nlost = true";
    let file = changed(&folder, "pcie-4", "pci = \"0000:02:00.0\"", to);
    let found = discover_machine(&file, folder.path()).unwrap().unwrap();
    assert_eq!(found.skipped.len(), 1);
    assert_eq!(found.skipped[0].driver_index, 1);
    assert!(found.skipped[0].reason.contains("reboot the node"), "{}", found.skipped[0].reason);
    let indices: Vec<u16> = found.gpus.iter().map(|gpu| gpu.index.0).collect();
    assert_eq!(indices, [0, 1, 2]);
    let minors: Vec<u32> = found.gpus.iter().map(|gpu| gpu.minor).collect();
    assert_eq!(minors, [0, 2, 3]);
    assert_eq!(rows(&found.matrix), table("X SYS SYS\nSYS X PIX\nSYS PIX X"));
}

#[test]
fn a_gpu_in_mig_mode_without_mig_devices_is_skipped() {
    let folder = TempDir::new().unwrap();
    let file = changed(&folder, "dgx-h100", "minor = 2", "minor = 2\nmig = []");
    let found = discover_machine(&file, folder.path()).unwrap().unwrap();
    assert_eq!(found.gpus.len(), 7);
    assert_eq!(found.skipped[0].driver_index, 0);
    assert!(found.skipped[0].uuid.is_some(), "{found:?}");
    let reason = &found.skipped[0].reason;
    assert!(reason.contains("nvidia-smi mig -i 0 -cgi PROFILES -C"), "{reason}");
    assert!(reason.contains("nvidia-smi -i 0 -mig 0"), "{reason}");
}

/// A DGX H100 whose first GPU (minor 2) has two MIG devices, with a gap between them.
fn with_mig_devices(folder: &TempDir) -> PathBuf {
    let mig = r#"minor = 2
mig = [
    { slot = 0, profile = "3g.40gb", gpu_instance = 1, compute_instance = 0,
      memory_mib = 40448, slices = 3, multiprocessors = 60 },
    { slot = 2, profile = "1g.10gb", gpu_instance = 9, compute_instance = 0,
      memory_mib = 9984, slices = 1, multiprocessors = 16 },
]"#;
    changed(folder, "dgx-h100", "minor = 2", mig)
}

/// Writes the kernel's and the driver's files for a MIG device: the minors of its GPU instance and
/// of its compute instance.
fn write_capabilities(root: &Path, gpu_instance: u32, minors: [u32; 2]) {
    let devices = "Character devices:\n  1 mem\n195 nvidia\n509 nvidia-caps\n\nBlock devices:\n";
    let instance = root.join(format!("proc/driver/nvidia/capabilities/gpu2/mig/gi{gpu_instance}"));
    let text = |minor: u32| format!("DeviceFileMinor: {minor}\nDeviceFileMode: 292\n");
    fs::create_dir_all(instance.join("ci0")).unwrap();
    fs::write(root.join("proc/devices"), devices).unwrap();
    fs::write(instance.join("access"), text(minors[0])).unwrap();
    fs::write(instance.join("ci0/access"), text(minors[1])).unwrap();
}

#[test]
fn mig_devices_are_gpus_of_their_own_kinds() {
    let folder = TempDir::new().unwrap();
    let file = with_mig_devices(&folder);
    write_capabilities(folder.path(), 1, [12, 13]);
    write_capabilities(folder.path(), 9, [84, 85]);
    let found = discover_machine(&file, folder.path()).unwrap().unwrap();
    assert_eq!(found.skipped, []);
    let kinds: Vec<&str> = found.gpus.iter().map(|gpu| gpu.kind.0.as_str()).collect();
    assert_eq!(kinds[..3], ["h100-3g.40gb", "h100-1g.10gb", "h100"]);
    let indices: Vec<u16> = found.gpus.iter().map(|gpu| gpu.index.0).collect();
    assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let whole = &gpus_of("dgx-h100").gpus[0];
    let mig_device = &found.gpus[1];
    assert!(mig_device.uuid.starts_with("MIG-"), "{}", mig_device.uuid);
    assert_eq!(mig_device.memory.0, 9984 << 20);
    assert_eq!((mig_device.minor, mig_device.numa), (whole.minor, whole.numa));
    assert_eq!((&mig_device.cpus, &mig_device.pci_bus_id), (&whole.cpus, &whole.pci_bus_id));
    let capabilities = [84, 85].map(|minor| DeviceNumber { major: 509, minor });
    assert_eq!(mig_device.mig, Some(MigDevice { of: whole.uuid.clone(), capabilities }));
    assert_eq!(found.gpus[2].mig, None);
    let rows = rows(&found.matrix);
    assert_eq!(rows[0], "X NODE NODE NODE NODE SYS SYS SYS SYS", "a MIG device has no NVLink");
    assert_eq!(rows[2], "NODE NODE X NV18 NV18 NV18 NV18 NV18 NV18");
}

#[test]
fn a_mig_device_unknown_to_the_kernel_is_left_out_with_the_reason() {
    let folder = TempDir::new().unwrap();
    let file = with_mig_devices(&folder);
    let none = discover_machine(&file, folder.path()).unwrap().unwrap();
    assert_eq!(none.gpus.len(), 7);
    let reason = &none.skipped[0].reason;
    assert!(
        reason.contains("none of its MIG devices is offered: MIG device 0 (3g.40gb): failed"),
        "{reason}"
    );
    assert!(reason.contains("proc/devices"), "{reason}");
    write_capabilities(folder.path(), 1, [12, 13]);
    let one = discover_machine(&file, folder.path()).unwrap().unwrap();
    assert_eq!(one.gpus.len(), 8);
    assert_eq!(one.gpus[0].kind.0, "h100-3g.40gb");
    assert_eq!(
        one.skipped[0].uuid,
        one.gpus[0].mig.as_ref().map(|mig_device| mig_device.of.clone())
    );
    let reason = &one.skipped[0].reason;
    assert!(reason.contains("MIG device 2 (1g.10gb): failed to read"), "{reason}");
    assert!(reason.contains("capabilities/gpu2/mig/gi9/access"), "{reason}");
}

#[test]
fn missing_gpus_that_were_here_before_are_listed() {
    let folder = TempDir::new().unwrap();
    let mut numbers = GpuNumbers::read(folder.path()).unwrap();
    assert_eq!(numbers.lost(None), [], "nothing was here before");
    let mut whole = gpus_of("pcie-4");
    numbers.assign_numbers(&mut whole);
    numbers.save().unwrap();
    assert_eq!(numbers.lost(Some(&whole)), []);
    assert_eq!(numbers.lost(None).len(), 4, "without the driver");
    let to = "pci = \"0000:02:00.0\"\nlost = true";
    let file = changed(&folder, "pcie-4", "pci = \"0000:02:00.0\"", to);
    let one_less = discover_machine(&file, folder.path()).unwrap().unwrap();
    assert_eq!(numbers.lost(Some(&one_less)), [(GpuIndex(1), whole.gpus[1].uuid.clone())]);
    let to = "pci = \"0000:02:00.0\"\nmig_capacity = 7\nmig = []";
    let file = changed(&folder, "pcie-4", "pci = \"0000:02:00.0\"", to);
    let in_mig_mode = discover_machine(&file, folder.path()).unwrap().unwrap();
    assert_eq!(numbers.lost(Some(&in_mig_mode)), [], "it exists, and is reported as skipped");
}

#[test]
fn a_machine_without_the_library_is_a_cpu_node() {
    assert_eq!(discover(Some(Path::new("/nonexistent/libnvidia-ml.so.1"))).unwrap(), None);
    assert_eq!(discover(Some(Path::new("libnvidia-ml-nowhere.so.1"))).unwrap(), None);
}

#[test]
fn a_file_that_is_not_a_library_is_an_error() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("libnvidia-ml.so.1");
    fs::write(&file, "no library").unwrap();
    let error = discover(Some(&file)).unwrap_err();
    assert!(matches!(error, GpuError::Load { .. }), "{error:?}");
    assert!(error.to_string().contains(&*file.to_string_lossy()), "{error}");
}

#[test]
fn a_library_that_does_not_start_is_an_error_with_advice() {
    let folder = TempDir::new().unwrap();
    for (fault, advice) in [
        ("version-mismatch", "reboot, or reload the nvidia modules"),
        ("driver-not-loaded", "load the nvidia kernel module"),
    ] {
        let to = format!("init_fails = \"{fault}\"\ndriver =");
        let file = changed(&folder, "pcie-2", "driver =", &to);
        let error = discover_machine(&file, folder.path()).unwrap_err();
        assert!(matches!(error, GpuError::Start { .. }), "{error:?}");
        assert!(error.to_string().contains(advice), "{error}");
    }
}
