//! The limits of a step's processes, and the devices to deny because of them.

use super::{DRM_MAJOR, NVIDIA_MAJOR};
use common::cpuset::CpuSet;
use common::gpu::RENDER_MINOR_MIN;
use common::gpu::mig::DeviceNumber;
use common::unit::Bytes;
use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// Allowed CPUs; empty means no limit.
    pub cpus: CpuSet,
    /// Memory including swap; `None` means no limit.
    pub memory: Option<Bytes>,
    /// Processes and threads; `None` means no limit.
    pub pids: Option<u32>,
    /// Minors of the allowed GPUs; all others are denied.
    pub gpu_minors: BTreeSet<u32>,
    /// Minors of all known GPUs of the node, in addition to those that are denied in any case.
    pub known_gpu_minors: BTreeSet<u32>,
    /// Device numbers of the allowed MIG devices; all others of their major are denied.
    pub mig_devices: BTreeSet<DeviceNumber>,
    /// Device numbers of all MIG devices of the node; if there are none, nothing is denied because
    /// of MIG.
    pub known_mig_devices: BTreeSet<DeviceNumber>,
}

impl Limits {
    /// The devices to deny one by one: NVIDIA's minors 0 to 31 and the known ones, render devices
    /// of known GPUs, and the known MIG devices, without the allowed ones.
    pub(super) fn denied_devices(&self) -> BTreeSet<DeviceNumber> {
        let nvidia = self.known_gpu_minors.iter().copied().filter(|m| *m < RENDER_MINOR_MIN);
        let nvidia = (0..32).chain(nvidia).filter(|minor| !self.gpu_minors.contains(minor));
        let nvidia = nvidia.map(|minor| DeviceNumber { major: NVIDIA_MAJOR, minor });
        let render = self.denied_render_minors();
        let render = render.map(|minor| DeviceNumber { major: DRM_MAJOR, minor });
        let mig = self.known_mig_devices.difference(&self.mig_devices).copied();
        nvidia.chain(render).chain(mig).collect()
    }

    /// Render devices of known GPUs that are not allowed.
    pub(super) fn denied_render_minors(&self) -> impl Iterator<Item = u32> + '_ {
        let render = self.known_gpu_minors.difference(&self.gpu_minors).copied();
        render.filter(|minor| *minor >= RENDER_MINOR_MIN)
    }

    /// The majors of MIG devices: one, if there are any.
    pub(super) fn mig_majors(&self) -> BTreeSet<u32> {
        self.mig_devices.iter().chain(&self.known_mig_devices).map(|device| device.major).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(major: u32, minor: u32) -> DeviceNumber {
        DeviceNumber { major, minor }
    }

    #[test]
    fn all_known_gpus_but_its_own_are_listed_to_deny() {
        let gpu_minors = BTreeSet::from([3, 128]);
        let known_gpu_minors = BTreeSet::from([3, 40, 128, 129]);
        let denied = Limits { gpu_minors, known_gpu_minors, ..Limits::default() }.denied_devices();
        for (major, minor) in [(195, 0), (195, 31), (195, 40), (226, 129)] {
            assert!(denied.contains(&device(major, minor)), "{major}:{minor}");
        }
        for (major, minor) in [(195, 3), (195, 128), (195, 129), (226, 128), (226, 0)] {
            assert!(!denied.contains(&device(major, minor)), "{major}:{minor}");
        }
        assert!(denied.iter().all(|device| [195, 226].contains(&device.major)), "{denied:?}");
    }

    #[test]
    fn all_known_mig_devices_but_its_own_are_listed_to_deny() {
        let known = [12, 13, 21, 22].map(|minor| device(509, minor));
        let limits = Limits {
            mig_devices: known[..2].iter().copied().collect(),
            known_mig_devices: known.into(),
            ..Limits::default()
        };
        let denied = limits.denied_devices();
        let mig: Vec<DeviceNumber> = denied.into_iter().filter(|d| d.major == 509).collect();
        assert_eq!(mig, known[2..]);
        assert_eq!(limits.mig_majors(), BTreeSet::from([509]));
        assert_eq!(Limits::default().mig_majors(), BTreeSet::new());
    }
}
