//! Looks whether AMD GPUs are well: still there, and without uncorrectable errors (Linux,
//! Documentation/gpu/amdgpu/ras). Never resets or changes a GPU.

use super::device_of;
use common::gpu::Gpu;
use common::health::Check;
use node::Sign;
use std::fs;
use std::path::Path;

/// All that is wrong with these. May hang with the driver.
#[must_use]
pub fn look(root: &Path, gpus: &[Gpu]) -> Vec<Sign> {
    gpus.iter().filter_map(|gpu| look_at(root, gpu)).collect()
}

fn look_at(root: &Path, gpu: &Gpu) -> Option<Sign> {
    let name = format!("GPU {} ({})", gpu.index, gpu.uuid);
    let device = device_of(root, gpu.minor);
    if !device.exists() {
        return Some(Sign::new(Check::GpuLost, format!("{name}: the kernel has it no more")));
    }
    match uncorrectable(&device.join("ras")) {
        0 => None,
        times => {
            let says = format!("{name}: uncorrectable error");
            Some(Sign::new(Check::GpuEcc, says).times(times))
        }
    }
}

/// Of all blocks of a GPU: each has a file with lines `ue: N` and `ce: N`.
fn uncorrectable(dir: &Path) -> u64 {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let counts = files.filter(|f| f.file_name().to_string_lossy().ends_with("_err_count"));
    let texts = counts.filter_map(|file| fs::read_to_string(file.path()).ok());
    let count = |text: String| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix("ue:"))?.trim().parse().ok()
    };
    texts.filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::cpuset::CpuSet;
    use common::gpu::GpuKind;
    use common::id::GpuIndex;
    use common::unit::Bytes;

    #[test]
    fn a_gpu_that_is_gone_or_errs_is_told() {
        let root = tempfile::tempdir().unwrap();
        let gpu = Gpu {
            index: GpuIndex(2),
            uuid: "GPU-7".into(),
            model: "AMD".into(),
            kind: GpuKind("mi300x".into()),
            memory: Bytes(1),
            minor: 130,
            pci_bus_id: String::new(),
            numa: None,
            cpus: CpuSet::new(),
            mig: None,
        };
        let gpus = [gpu];
        assert_eq!(look(root.path(), &gpus)[0].check, Check::GpuLost);
        let ras = root.path().join("sys/class/drm/renderD130/device/ras");
        fs::create_dir_all(&ras).unwrap();
        fs::write(ras.join("umc_err_count"), "ue: 0\nce: 9\n").unwrap();
        assert_eq!(look(root.path(), &gpus), []);
        fs::write(ras.join("gfx_err_count"), "ue: 2\nce: 0\n").unwrap();
        let signs = look(root.path(), &gpus);
        assert_eq!((signs[0].check, signs[0].times), (Check::GpuEcc, 2));
        assert!(signs[0].says.starts_with("GPU 2 (GPU-7): "), "{signs:?}");
    }
}
