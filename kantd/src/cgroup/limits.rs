//! What the processes of a step may use, and which devices follow from it. Never enforces it: each
//! way of holding processes together does that in its own words.

use super::{DRM_MAJOR, NVIDIA_MAJOR};
use common::cpuset::CpuSet;
use common::gpu::RENDER_MINOR_MIN;
use common::mig::DeviceNumber;
use common::unit::Bytes;
use std::collections::BTreeSet;

/// What the processes of a step may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// Exactly these CPUs; empty: not limited.
    pub cpus: CpuSet,
    /// Memory, swap included; `None`: not limited.
    pub memory: Option<Bytes>,
    /// Processes and threads; `None`: not limited.
    pub pids: Option<u32>,
    /// Minors of the GPUs it may open; every other one is denied.
    pub gpu_minors: BTreeSet<u32>,
    /// Minors of all GPUs known on this node, beyond those that are denied anyway.
    pub known_gpu_minors: BTreeSet<u32>,
    /// What the MIG devices it may use are opened by; every other one of their majors is denied.
    pub mig_devices: BTreeSet<DeviceNumber>,
    /// What all MIG devices of this node are opened by; none here and above: nothing is denied for
    /// the sake of them.
    pub known_mig_devices: BTreeSet<DeviceNumber>,
}

impl Limits {
    /// The devices to deny one by one: NVIDIA's of minors 0 to 31 and the known ones, render
    /// devices that are known GPUs, and what the known MIG devices have, less the allowed ones.
    pub(super) fn denied_devices(&self) -> BTreeSet<DeviceNumber> {
        let nvidia = self.known_gpu_minors.iter().copied().filter(|m| *m < RENDER_MINOR_MIN);
        let nvidia = (0..32).chain(nvidia).filter(|minor| !self.gpu_minors.contains(minor));
        let nvidia = nvidia.map(|minor| DeviceNumber { major: NVIDIA_MAJOR, minor });
        let render = self.denied_render_minors();
        let render = render.map(|minor| DeviceNumber { major: DRM_MAJOR, minor });
        let mig = self.known_mig_devices.difference(&self.mig_devices).copied();
        nvidia.chain(render).chain(mig).collect()
    }

    /// Render devices that are known GPUs and not its own.
    pub(super) fn denied_render_minors(&self) -> impl Iterator<Item = u32> + '_ {
        let render = self.known_gpu_minors.difference(&self.gpu_minors).copied();
        render.filter(|minor| *minor >= RENDER_MINOR_MIN)
    }

    /// The majors of what MIG devices are opened by: one, where there are any.
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
    fn one_by_one_all_known_gpus_are_denied_but_its_own() {
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
    fn one_by_one_the_known_mig_devices_are_denied_but_its_own() {
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
