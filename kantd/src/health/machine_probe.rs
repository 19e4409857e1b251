//! Health checks of the machine: free space and writability of the spool's disk, and memory errors
//! (Linux, Documentation/admin-guide/ras: EDAC). Writes and removes one small file.

use crate::step;
use common::health::Check;
use common::unit::Bytes;
use nix::errno::Errno;
use nix::sys::statvfs::statvfs;
use node::Symptom;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Fewer free inodes than this count as a full disk.
const INODES_FREE_MIN: u64 = 1000;

#[derive(Debug, Clone)]
pub struct MachineProbe {
    root: PathBuf,
    spool: PathBuf,
    disk_free_min: Bytes,
}

impl MachineProbe {
    /// The machine whose /sys is below `root`, and the disk of `spool`.
    #[must_use]
    pub fn new(root: &Path, spool: PathBuf, disk_free_min: Bytes) -> Self {
        Self { root: root.to_owned(), spool, disk_free_min }
    }

    /// Runs the checks once. May hang with the disk.
    #[must_use]
    pub fn symptoms(&self) -> Vec<Symptom> {
        let mut symptoms = Vec::new();
        symptoms.extend(self.room());
        symptoms.extend(self.check_writable());
        symptoms.extend(self.memory());
        symptoms.extend(self.take_hook_failure());
        symptoms
    }

    fn room(&self) -> Option<Symptom> {
        let least = self.disk_free_min;
        let disk = statvfs(&self.spool).ok()?;
        let free = Bytes(disk.blocks_available().saturating_mul(disk.fragment_size()));
        // Some file systems create inodes on demand and report none.
        let few = disk.files() > 0 && disk.files_available() < INODES_FREE_MIN;
        let what = match (free < least, few) {
            (true, _) => format!("less than {least} (disk_free_min) is free"),
            (false, true) => format!("fewer than {INODES_FREE_MIN} inodes are free"),
            (false, false) => return None,
        };
        Some(Symptom::new(Check::DiskFull, format!("{}: {what}", self.spool.display())))
    }

    fn check_writable(&self) -> Option<Symptom> {
        let file = self.spool.join("health-probe");
        let written = File::create(&file).and_then(|mut probe| probe.write_all(b"1"));
        let removed = fs::remove_file(&file);
        let error = written.and(removed).err()?;
        let full = [Errno::ENOSPC, Errno::EDQUOT].map(|errno| errno as i32);
        let check = match error.raw_os_error() {
            Some(number) if full.contains(&number) => Check::DiskFull,
            _ => Check::ReadOnly,
        };
        Some(Symptom::new(check, format!("{} cannot be written: {error}", self.spool.display())))
    }

    /// A failed prolog or epilog that a supervisor reported; reported once, because it lasts.
    fn take_hook_failure(&self) -> Option<Symptom> {
        let file = step::hook_failure_file(&self.spool);
        let says = fs::read_to_string(&file).ok()?;
        let _ = fs::remove_file(&file);
        Some(Symptom::new(Check::Hook, says))
    }

    /// A symptom for each memory controller with uncorrectable errors.
    fn memory(&self) -> Vec<Symptom> {
        let dir = self.root.join("sys/devices/system/edac/mc");
        let controllers = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut broken: Vec<(String, u64)> = controllers
            .filter_map(|entry| match read_error_count(&entry.path().join("ue_count")) {
                Some(count @ 1..) => Some((entry.file_name().to_string_lossy().into(), count)),
                _ => None,
            })
            .collect();
        broken.sort();
        let symptom = |(name, count): (String, u64)| {
            let says = format!("memory controller {name} reports uncorrectable errors");
            Symptom::new(Check::MemoryErrors, says).with_count(count)
        };
        broken.into_iter().map(symptom).collect()
    }
}

fn read_error_count(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(probe: &MachineProbe) -> Vec<Check> {
        probe.symptoms().into_iter().map(|symptom| symptom.check).collect()
    }

    #[test]
    fn a_machine_with_free_space_and_good_memory_is_healthy() {
        let dir = tempfile::tempdir().unwrap();
        let probe = MachineProbe::new(dir.path(), dir.path().to_owned(), Bytes(1));
        assert_eq!(probe.symptoms(), []);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn low_disk_space_is_reported_with_the_limit_and_not_with_changing_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let least = Bytes::from_mib(1 << 40);
        let probe = MachineProbe::new(dir.path(), dir.path().to_owned(), least);
        let symptoms = probe.symptoms();
        assert_eq!(checks(&probe), [Check::DiskFull]);
        assert!(symptoms[0].text.contains("disk_free_min"), "{symptoms:?}");
        assert_eq!(probe.symptoms(), symptoms);
    }

    #[test]
    fn a_read_only_spool_and_memory_errors_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        for (name, count) in [("mc0", "0\n"), ("mc1", "2\n")] {
            let dir = dir.path().join("sys/devices/system/edac/mc").join(name);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("ue_count"), count).unwrap();
        }
        let spool = dir.path().join("gone");
        let probe = MachineProbe::new(dir.path(), spool, Bytes(1));
        assert_eq!(checks(&probe), [Check::ReadOnly, Check::MemoryErrors]);
        let memory = &probe.symptoms()[1];
        assert!(memory.text.contains("mc1") && memory.times == 2, "{memory:?}");
    }
}
