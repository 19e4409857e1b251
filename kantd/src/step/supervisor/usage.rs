//! The resources that a step used, measured when all its processes are dead: CPU time and memory
//! from its cgroup, disks from the kernel's sums over reaped children, GPUs from kantd's samples.
//! What cannot be measured is zero or missing.

use super::Supervisor;
use crate::step::gpu_tally::GpuTally;
use common::job::Usage;
use common::unit::Bytes;
use std::fs;

/// Bytes read from and written to disks by this process and all that it has reaped: the kernel adds
/// a child's sums to its reaper's (man 5 proc, /proc/PID/io).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskSums {
    read: u64,
    written: u64,
}

impl DiskSums {
    /// The sums up to now; zeros if the kernel does not count.
    pub fn now() -> Self {
        fs::read_to_string("/proc/self/io").map(|text| Self::parse(&text)).unwrap_or_default()
    }

    fn parse(text: &str) -> Self {
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
        };
        // Pages discarded before they were written had been counted as written.
        let written: u64 = number("write_bytes:");
        Self {
            read: number("read_bytes:"),
            written: written.saturating_sub(number("cancelled_write_bytes:")),
        }
    }
}

impl Supervisor {
    /// The usage; to be called while the cgroup exists.
    pub(super) fn usage(&self) -> Usage {
        let (before, now) = (self.disks_before, DiskSums::now());
        Usage {
            disk_read: Bytes(now.read.saturating_sub(before.read)),
            disk_written: Bytes(now.written.saturating_sub(before.written)),
            gpu: GpuTally::read(&self.dir).usage(),
            ..self.group.usage()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_sums_are_parsed_and_discarded_writes_subtracted() {
        let text = "rchar: 9\nwchar: 9\nread_bytes: 4096\nwrite_bytes: 12288\n\
                    cancelled_write_bytes: 4096\n";
        assert_eq!(DiskSums::parse(text), DiskSums { read: 4096, written: 8192 });
        assert_eq!(DiskSums::parse("nothing"), DiskSums::default());
    }
}
