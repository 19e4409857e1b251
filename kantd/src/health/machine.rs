//! Looks at the machine itself: room on the spool's disk, whether it can be written, and errors of
//! the machine's memory (Linux, Documentation/admin-guide/ras: EDAC). Never writes anything but one
//! small file, which it removes.

use crate::step;
use common::health::Check;
use common::unit::Bytes;
use nix::errno::Errno;
use nix::sys::statvfs::statvfs;
use node::Sign;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Fewer free inodes than this are as bad as no room.
const INODES_FREE_MIN: u64 = 1000;

/// What is looked at.
#[derive(Debug, Clone)]
pub struct MachineProbe {
    root: PathBuf,
    spool: PathBuf,
    disk_free_min: Bytes,
}

impl MachineProbe {
    /// The machine whose /sys is below `root`, and the disk that `spool` is on.
    #[must_use]
    pub fn new(root: &Path, spool: PathBuf, disk_free_min: Bytes) -> Self {
        Self { root: root.to_owned(), spool, disk_free_min }
    }

    /// One look. May hang with the disk.
    #[must_use]
    pub fn look(&self) -> Vec<Sign> {
        let mut signs = Vec::new();
        signs.extend(self.room());
        signs.extend(self.write());
        signs.extend(self.memory());
        signs.extend(self.hook());
        signs
    }

    fn room(&self) -> Option<Sign> {
        let least = self.disk_free_min;
        let disk = statvfs(&self.spool).ok()?;
        let free = Bytes(disk.blocks_available().saturating_mul(disk.fragment_size()));
        // Some file systems make inodes as they need them, and count none.
        let few = disk.files() > 0 && disk.files_available() < INODES_FREE_MIN;
        let what = match (free < least, few) {
            (true, _) => format!("less than {least} (disk_free_min) is free"),
            (false, true) => format!("fewer than {INODES_FREE_MIN} inodes are free"),
            (false, false) => return None,
        };
        Some(Sign::new(Check::DiskFull, format!("{}: {what}", self.spool.display())))
    }

    fn write(&self) -> Option<Sign> {
        let file = self.spool.join("health-probe");
        let written = File::create(&file).and_then(|mut probe| probe.write_all(b"1"));
        let removed = fs::remove_file(&file);
        let error = written.and(removed).err()?;
        let full = [Errno::ENOSPC, Errno::EDQUOT].map(|errno| errno as i32);
        let check = match error.raw_os_error() {
            Some(number) if full.contains(&number) => Check::DiskFull,
            _ => Check::ReadOnly,
        };
        Some(Sign::new(check, format!("{} cannot be written: {error}", self.spool.display())))
    }

    /// What a supervisor told of a prolog or an epilog; told once, as it lasts.
    fn hook(&self) -> Option<Sign> {
        let file = step::hook_failures(&self.spool);
        let says = fs::read_to_string(&file).ok()?;
        let _ = fs::remove_file(&file);
        Some(Sign::new(Check::Hook, says))
    }

    /// One sign for each memory controller that counts uncorrectable errors.
    fn memory(&self) -> Vec<Sign> {
        let dir = self.root.join("sys/devices/system/edac/mc");
        let controllers = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut broken: Vec<(String, u64)> = controllers
            .filter_map(|entry| match errors(&entry.path().join("ue_count")) {
                Some(count @ 1..) => Some((entry.file_name().to_string_lossy().into(), count)),
                _ => None,
            })
            .collect();
        broken.sort();
        let sign = |(name, count): (String, u64)| {
            let says = format!("memory controller {name} counts uncorrectable errors");
            Sign::new(Check::MemoryErrors, says).times(count)
        };
        broken.into_iter().map(sign).collect()
    }
}

fn errors(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(probe: &MachineProbe) -> Vec<Check> {
        probe.look().into_iter().map(|sign| sign.check).collect()
    }

    #[test]
    fn a_machine_with_room_and_good_memory_is_well() {
        let dir = tempfile::tempdir().unwrap();
        let probe = MachineProbe::new(dir.path(), dir.path().to_owned(), Bytes(1));
        assert_eq!(probe.look(), []);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn too_little_room_is_told_with_the_limit_and_not_with_numbers_that_change() {
        let dir = tempfile::tempdir().unwrap();
        let least = Bytes::from_mib(1 << 40);
        let probe = MachineProbe::new(dir.path(), dir.path().to_owned(), least);
        let signs = probe.look();
        assert_eq!(checks(&probe), [Check::DiskFull]);
        assert!(signs[0].says.contains("disk_free_min"), "{signs:?}");
        assert_eq!(probe.look(), signs);
    }

    #[test]
    fn a_spool_that_cannot_be_written_and_memory_that_errs_are_told() {
        let dir = tempfile::tempdir().unwrap();
        for (name, count) in [("mc0", "0\n"), ("mc1", "2\n")] {
            let dir = dir.path().join("sys/devices/system/edac/mc").join(name);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("ue_count"), count).unwrap();
        }
        let spool = dir.path().join("gone");
        let probe = MachineProbe::new(dir.path(), spool, Bytes(1));
        assert_eq!(checks(&probe), [Check::ReadOnly, Check::MemoryErrors]);
        let memory = &probe.look()[1];
        assert!(memory.says.contains("mc1") && memory.times == 2, "{memory:?}");
    }
}
