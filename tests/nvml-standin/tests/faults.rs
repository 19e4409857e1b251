//! What a test can break: links, memory, whole GPUs, the driver, the file itself.

#![allow(clippy::unwrap_used)] // A panic is how a test reports.

mod support;

use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enum_wrappers::device::{EccCounter, MemoryError};
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use std::fs;
use std::time::{Duration, Instant};
use support::{File, Machine, find, gpus, matrix, open, table, try_open};

/// Bounds every wait for something that must happen.
const PATIENCE_MS: u32 = 20_000;

#[test]
fn one_link_down_lowers_nv18_to_nv17_around_that_gpu() {
    let file = File::changed(
        "link",
        "dgx-h100",
        &[("pci = \"0000:61:00.0\"", "pci = \"0000:61:00.0\"\ndown_links = [4]")],
    );
    let expected = table(
        "X    NV18 NV18 NV17 NV18 NV18 NV18 NV18
         NV18 X    NV18 NV17 NV18 NV18 NV18 NV18
         NV18 NV18 X    NV17 NV18 NV18 NV18 NV18
         NV17 NV17 NV17 X    NV17 NV17 NV17 NV17
         NV18 NV18 NV18 NV17 X    NV18 NV18 NV18
         NV18 NV18 NV18 NV17 NV18 X    NV18 NV18
         NV18 NV18 NV18 NV17 NV18 NV18 X    NV18
         NV18 NV18 NV18 NV17 NV18 NV18 NV18 X",
    );
    assert_eq!(matrix(&file.open()), expected);
}

#[test]
fn a_direct_link_is_down_at_both_ends() {
    let file = File::changed(
        "both-ends",
        "dgx-1v",
        &[("pci = \"0000:07:00.0\"", "pci = \"0000:07:00.0\"\ndown_links = [0]")],
    );
    let machine = file.open();
    let rows = matrix(&machine);
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows[0], "X PIX NV1 NV2 NV2 SYS SYS SYS");
    assert_eq!(rows[1], "PIX X NV2 NV1 SYS NV2 SYS SYS");
}

/// Watches all GPUs and returns the events that come before a wait of `timeout_ms` ends empty.
fn xids(machine: &Machine, timeout_ms: u32, at_most: usize) -> Vec<(u32, u64)> {
    let mut set = machine.create_event_set().unwrap();
    for gpu in gpus(machine) {
        set = gpu.register_events(EventTypes::CRITICAL_XID_ERROR, set).unwrap();
    }
    let mut seen = Vec::new();
    while seen.len() < at_most {
        match set.wait(timeout_ms) {
            Ok(event) => match event.event_data {
                Some(XidError::Value(code)) => seen.push((event.device.index().unwrap(), code)),
                other => panic!("no XID in {other:?}"),
            },
            Err(NvmlError::Timeout) => break,
            Err(error) => panic!("{error}"),
        }
    }
    seen
}

#[test]
fn timed_xids_arrive_in_the_order_of_their_time() {
    let text = fs::read_to_string(find::machine("pcie-4")).unwrap();
    let later = "\n[[xid]]\ngpu = 2\ncode = 79\nafter_ms = 150\n";
    let sooner = "\n[[xid]]\ngpu = 1\ncode = 48\nafter_ms = 50\n";
    let file = File::new("xids", &format!("{text}{later}{sooner}"));
    let machine = file.open();
    let opened = Instant::now();
    assert_eq!(xids(&machine, PATIENCE_MS, 2), [(1, 48), (2, 79)]);
    assert!(opened.elapsed() >= Duration::from_millis(100), "they came before their time");
    assert_eq!(xids(&machine, PATIENCE_MS, 2), [(1, 48), (2, 79)], "every set gets them");
}

#[test]
fn a_set_hears_only_of_the_gpus_it_watches() {
    let text = fs::read_to_string(find::machine("pcie-4")).unwrap();
    let file = File::new("watch", &format!("{text}\n[[xid]]\ngpu = 2\ncode = 79\n"));
    let machine = file.open();
    let set = machine.create_event_set().unwrap();
    let other = machine.device_by_index(1).unwrap();
    let set = other.register_events(EventTypes::CRITICAL_XID_ERROR, set).unwrap();
    assert!(matches!(set.wait(30), Err(NvmlError::Timeout)));
    let refused = other.register_events(EventTypes::CLOCK_CHANGE, set).unwrap_err();
    assert!(matches!(refused.error, NvmlError::NotSupported));
}

#[test]
fn a_changed_file_breaks_a_gpu_while_it_is_open() {
    let text = fs::read_to_string(find::machine("pcie-4")).unwrap();
    let file = File::new("reload", &text);
    let machine = file.open();
    let uncorrected = |index| {
        let gpu = machine.device_by_index(index)?;
        gpu.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile)
    };
    assert_eq!(uncorrected(0).unwrap(), 0);

    let broken = text.replacen("ecc = {}", "ecc.volatile.uncorrected = 3", 1);
    file.write(&format!("{broken}lost = true\n\n[[xid]]\ngpu = 3\ncode = 94\n"));
    assert_eq!(uncorrected(0).unwrap(), 3);
    assert!(matches!(uncorrected(3), Err(NvmlError::GpuLost)));
    let set = machine.create_event_set().unwrap();
    let first = machine.device_by_index(0).unwrap();
    let set = first.register_events(EventTypes::CRITICAL_XID_ERROR, set).unwrap();

    file.write(&format!("{broken}\n[[xid]]\ngpu = 0\ncode = 13\n"));
    let event = set.wait(PATIENCE_MS).unwrap();
    assert_eq!(event.event_data, Some(XidError::Value(13)));
    assert_eq!(uncorrected(3).unwrap(), 3, "the GPU came back");

    file.write("not a machine");
    assert_eq!(uncorrected(0).unwrap(), 3, "a broken file changes nothing");
    assert_eq!(machine.device_count().unwrap(), 4);
}

#[test]
fn init_fails_without_a_good_file() {
    let refused = |file: Option<&File>| match try_open(file.map(|file| file.0.as_path())) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    };
    assert!(matches!(refused(None), NvmlError::DriverNotLoaded));
    let head = "name = \"x\"\ndriver = \"1\"\n";
    let pair = "every_gpu = { model = \"M\", memory_mib = 1 }\n\
        gpu = [{ pci = \"0:1:0.0\" }, { pci = \"0:2:0.0\" }]\n";
    for (test, text) in [
        ("typo", "swtich_links = [1]\n".to_owned()),
        ("no-model", "[[gpu]]\npci = \"0000:01:00.0\"\n".to_owned()),
        ("xid-of-no-gpu", "[[xid]]\ngpu = 0\ncode = 79\n".to_owned()),
        ("too-many-links", format!("{pair}nvlink = [[0, 1, 99999999999999]]\n")),
        ("link-to-itself", format!("{pair}nvlink = [[1, 1, 1]]\n")),
        ("down-link-of-none", pair.replacen("0.0\"", "0.0\", down_links = [0]", 1)),
        ("address-of-a-switch", format!("{pair}switch_links = [1]\n").replace("0:2:", "0:5:")),
        ("same-address", pair.replace("0:2:", "0:1:")),
        ("not-toml", "name =\n".to_owned()),
    ] {
        let text = format!("{head}{text}");
        let file = File::new(test, &text);
        assert!(matches!(refused(Some(&file)), NvmlError::DriverNotLoaded), "{test}");
    }
    let good = File::new("good", &format!("{head}{pair}"));
    assert_eq!(good.open().device_count().unwrap(), 2, "what was refused is not the pair itself");
    let file = File::new("mismatch", &format!("{head}init_fails = \"version-mismatch\"\n"));
    assert!(matches!(refused(Some(&file)), NvmlError::LibRmVersionMismatch));
    drop(file);
    assert_eq!(open("pcie-2").device_count().unwrap(), 2, "and works again afterwards");
}
