//! Health checks of AMD GPUs: whether they exist, and uncorrectable errors (Linux,
//! Documentation/gpu/amdgpu/ras).

use super::device_of;
use common::gpu::Gpu;
use common::health::Check;
use node::Symptom;
use std::fs;
use std::path::Path;

/// The symptoms of these GPUs. May hang with the driver.
#[must_use]
pub fn symptoms(root: &Path, gpus: &[Gpu]) -> Vec<Symptom> {
    gpus.iter().filter_map(|gpu| symptom_of(root, gpu)).collect()
}

fn symptom_of(root: &Path, gpu: &Gpu) -> Option<Symptom> {
    let name = format!("GPU {} ({})", gpu.index, gpu.uuid);
    let device = device_of(root, gpu.minor);
    if !device.exists() {
        return Some(Symptom::new(
            Check::GpuLost,
            format!("{name}: the kernel does not list it any more"),
        ));
    }
    match count_uncorrectable_errors(&device.join("ras")) {
        0 => None,
        times => {
            let says = format!("{name}: uncorrectable error");
            Some(Symptom::new(Check::GpuEcc, says).with_count(times))
        }
    }
}

/// The sum over all blocks of a GPU: each has a file with lines `ue: N` and `ce: N`.
fn count_uncorrectable_errors(dir: &Path) -> u64 {
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
    fn a_missing_gpu_and_errors_are_reported() {
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
        assert_eq!(symptoms(root.path(), &gpus)[0].check, Check::GpuLost);
        let ras = root.path().join("sys/class/drm/renderD130/device/ras");
        fs::create_dir_all(&ras).unwrap();
        fs::write(ras.join("umc_err_count"), "ue: 0\nce: 9\n").unwrap();
        assert_eq!(symptoms(root.path(), &gpus), []);
        fs::write(ras.join("gfx_err_count"), "ue: 2\nce: 0\n").unwrap();
        let symptoms = symptoms(root.path(), &gpus);
        assert_eq!((symptoms[0].check, symptoms[0].times), (Check::GpuEcc, 2));
        assert!(symptoms[0].text.starts_with("GPU 2 (GPU-7): "), "{symptoms:?}");
    }
}
