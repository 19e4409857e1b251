//! The machines that come with the crate, seen through nvml-wrapper as nvidia-smi shows real ones.

#![allow(clippy::unwrap_used)] // A panic is how a test reports.

mod support;

use nvml_wrapper::enum_wrappers::device::{P2pCapabilitiesIndex, P2pStatus, TopologyLevel};
use nvml_wrapper::enums::device::DeviceArchitecture;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings as sys;
use support::{gpus, matrix, open, table};

#[test]
fn a_dgx_h100_is_nv18_everywhere() {
    let machine = open("dgx-h100");
    let expected = table(
        "X    NV18 NV18 NV18 NV18 NV18 NV18 NV18
         NV18 X    NV18 NV18 NV18 NV18 NV18 NV18
         NV18 NV18 X    NV18 NV18 NV18 NV18 NV18
         NV18 NV18 NV18 X    NV18 NV18 NV18 NV18
         NV18 NV18 NV18 NV18 X    NV18 NV18 NV18
         NV18 NV18 NV18 NV18 NV18 X    NV18 NV18
         NV18 NV18 NV18 NV18 NV18 NV18 X    NV18
         NV18 NV18 NV18 NV18 NV18 NV18 NV18 X",
    );
    assert_eq!(matrix(&machine), expected);
}

#[test]
fn a_dgx_1v_is_the_published_hybrid_cube_mesh() {
    let machine = open("dgx-1v");
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
    assert_eq!(matrix(&machine), expected);
}

#[test]
fn pcie_boxes_have_no_nvlink() {
    {
        let machine = open("pcie-4");
        let expected = table(
            "X   PIX SYS SYS
             PIX X   SYS SYS
             SYS SYS X   PIX
             SYS SYS PIX X",
        );
        assert_eq!(matrix(&machine), expected);
        for gpu in gpus(&machine) {
            let link = gpu.link_wrapper_for(0).is_active();
            assert!(matches!(link, Err(NvmlError::NotSupported)), "{link:?}");
        }
    }
    assert_eq!(matrix(&open("pcie-2")), table("X PHB\nPHB X"));
}

#[test]
fn every_machine_tells_its_names_and_sizes() {
    for (name, model, memory_mib, driver) in [
        ("dgx-h100", "NVIDIA H100 80GB HBM3", 81_559, "550.54.15"),
        ("dgx-1v", "Tesla V100-SXM2-32GB", 32_768, "535.161.08"),
        ("pcie-4", "NVIDIA L40S", 46_068, "550.54.15"),
        ("pcie-2", "NVIDIA A40", 46_068, "550.54.15"),
    ] {
        let machine = open(name);
        assert_eq!(machine.sys_driver_version().unwrap(), driver, "{name}");
        assert_eq!(machine.sys_nvml_version().unwrap(), format!("12.{driver}"), "{name}");
        for gpu in gpus(&machine) {
            assert_eq!(gpu.name().unwrap(), model, "{name}");
            let memory = gpu.memory_info().unwrap();
            assert_eq!(memory.total, memory_mib << 20, "{name}");
            assert_eq!(memory.free + memory.reserved + memory.used, memory.total, "{name}");
        }
    }
}

#[test]
fn minors_are_not_indices() {
    let machine = open("dgx-h100");
    let minors: Vec<u32> = gpus(&machine).iter().map(|gpu| gpu.minor_number().unwrap()).collect();
    assert_eq!(minors, [2, 3, 0, 1, 6, 7, 4, 5]);
    let indices: Vec<u32> = gpus(&machine).iter().map(|gpu| gpu.index().unwrap()).collect();
    assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_gpu_is_found_by_uuid_and_by_address() {
    let uuids = |name| -> Vec<String> {
        let machine = open(name);
        gpus(&machine).iter().map(|gpu| gpu.uuid().unwrap()).collect()
    };
    let h100 = uuids("dgx-h100");
    assert_eq!(h100, uuids("dgx-h100"), "a machine's uuids never change");
    let mut all = [h100.clone(), uuids("dgx-1v"), uuids("pcie-4")].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 20, "no two GPUs share a uuid");
    assert!(all.iter().all(|uuid| uuid.starts_with("GPU-") && uuid.len() == 40), "{all:?}");

    let machine = open("dgx-h100");
    assert_eq!(machine.device_by_uuid(h100[5].as_str()).unwrap().index().unwrap(), 5);
    let address = machine.device_by_index(5).unwrap().pci_info().unwrap();
    assert_eq!(address.bus_id, "00000000:C3:00.0");
    assert_eq!(address.pci_device_id, 0x2330_10de);
    for bus in ["00000000:C3:00.0", "0000:c3:00.0"] {
        assert_eq!(machine.device_by_pci_bus_id(bus).unwrap().index().unwrap(), 5, "{bus}");
    }
    assert!(matches!(machine.device_by_uuid("GPU-none"), Err(NvmlError::NotFound)));
    assert!(matches!(machine.device_by_pci_bus_id("0000:c4:00.0"), Err(NvmlError::NotFound)));
    assert!(matches!(machine.device_by_pci_bus_id("nowhere"), Err(NvmlError::InvalidArg)));
    assert!(matches!(machine.device_by_index(8), Err(NvmlError::InvalidArg)));
}

#[test]
fn cpus_and_memory_near_a_gpu_are_masks() {
    let machine = open("dgx-h100");
    let gpu = machine.device_by_index(7).unwrap();
    let cpus = gpu.cpu_affinity(4).unwrap();
    let numbers: Vec<usize> =
        (0..256).filter(|cpu| cpus[cpu / 64] >> (cpu % 64) & 1 == 1).collect();
    assert_eq!(numbers, (56..112).chain(168..224).collect::<Vec<_>>());
    assert_eq!(gpu.memory_affinity(1, 0).unwrap(), [0b10]);
    assert!(matches!(gpu.numa_node_id(), Err(NvmlError::NotSupported)));
}

#[test]
fn near_gpus_and_peers_follow_the_wiring() {
    let machine = open("dgx-1v");
    let first = machine.device_by_index(0).unwrap();
    let near = |level| -> Vec<u32> {
        let near = first.topology_nearest_gpus(level).unwrap();
        near.iter().map(|gpu| gpu.index().unwrap()).collect()
    };
    assert_eq!(near(TopologyLevel::Single), [1]);
    assert_eq!(near(TopologyLevel::HostBridge), [2, 3]);
    assert_eq!(near(TopologyLevel::System), [4, 5, 6, 7]);
    assert!(near(TopologyLevel::Node).is_empty());

    let peer = |other, what| {
        let other = machine.device_by_index(other).unwrap();
        first.p2p_status(&other, what).unwrap()
    };
    assert_eq!(peer(4, P2pCapabilitiesIndex::NvLink), P2pStatus::Ok);
    assert_eq!(peer(7, P2pCapabilitiesIndex::NvLink), P2pStatus::NotSupported);
    assert_eq!(peer(4, P2pCapabilitiesIndex::Read), P2pStatus::Ok);
    assert_eq!(peer(7, P2pCapabilitiesIndex::Read), P2pStatus::IohTopologyNotSupported);
}

#[test]
fn links_tell_what_is_at_their_other_end() {
    let remote = |machine: &support::Machine, link| {
        let gpu = machine.device_by_index(0).unwrap();
        let mut kind = 99;
        // SAFETY: the handle is of this machine and `kind` outlives the call. The wrapper's own
        // method (0.13) drops the answer.
        let code = unsafe {
            let call = machine.lib().nvmlDeviceGetNvLinkRemoteDeviceType.as_ref().unwrap();
            call(gpu.handle(), link, &raw mut kind)
        };
        assert_eq!(code, sys::nvmlReturn_enum_NVML_SUCCESS);
        let link = gpu.link_wrapper_for(link);
        (link.remote_pci_info().unwrap().bus_id, kind, link.version().unwrap())
    };
    let to_gpu = sys::nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_GPU;
    let to_switch = sys::nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH;

    {
        let machine = open("dgx-1v");
        assert_eq!(remote(&machine, 0), ("00000000:07:00.0".to_owned(), to_gpu, 2));
        let gpu = machine.device_by_index(0).unwrap();
        assert!(matches!(gpu.link_wrapper_for(6).is_active(), Err(NvmlError::InvalidArg)));
    }
    let machine = open("dgx-h100");
    assert_eq!(remote(&machine, 0), ("00000000:05:00.0".to_owned(), to_switch, 4));
    assert_eq!(remote(&machine, 17), ("00000000:08:00.0".to_owned(), to_switch, 4));
}

#[test]
fn what_the_file_leaves_out_is_not_supported() {
    let machine = open("dgx-1v");
    let gpu = machine.device_by_index(0).unwrap();
    assert_eq!(gpu.architecture().unwrap(), DeviceArchitecture::Volta);
    assert!(matches!(gpu.mig_mode(), Err(NvmlError::NotSupported)));
    assert!(matches!(gpu.is_accounting_enabled(), Err(NvmlError::NotSupported)));
    assert!(matches!(gpu.brand(), Err(NvmlError::NotSupported)));
    assert!(matches!(gpu.performance_state(), Err(NvmlError::NotSupported)));
}

#[test]
fn the_file_in_the_readme_is_a_machine() {
    let readme = std::fs::read_to_string(support::find::home().join("README.md")).unwrap();
    let example = readme.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let file = support::File::new("readme", example);
    let machine = file.open();
    assert_eq!(machine.device_count().unwrap(), 2);
    assert!(matches!(machine.device_by_index(1), Err(NvmlError::GpuLost)));
}
