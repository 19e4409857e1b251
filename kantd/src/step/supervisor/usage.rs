//! What a step used, once nothing of it lives: CPU time and memory from its group, disks from the
//! kernel's sums over all children that ended, GPUs from what kantd kept beside the journal.
//! Never fails an end: what cannot be measured is zero or missing.

use super::Supervisor;
use crate::step::gpu_tally::GpuTally;
use common::job::Usage;
use common::unit::Bytes;
use std::fs;

/// Bytes that came from disks and went to them, by this process and all that it has reaped: the
/// kernel adds a child's sums to those of whoever reaps it (man 5 proc, /proc/PID/io).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskSums {
    read: u64,
    written: u64,
}

impl DiskSums {
    /// Up to now; zeros where the kernel does not count.
    pub fn now() -> Self {
        fs::read_to_string("/proc/self/io").map(|text| Self::parse(&text)).unwrap_or_default()
    }

    fn parse(text: &str) -> Self {
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
        };
        // Pages that were dropped before they reached the disk were counted when they were made.
        let written: u64 = number("write_bytes:");
        Self {
            read: number("read_bytes:"),
            written: written.saturating_sub(number("cancelled_write_bytes:")),
        }
    }
}

impl Supervisor {
    /// As long as the group is there.
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
    fn the_kernels_sums_are_read_and_what_never_reached_a_disk_is_left_out() {
        let text = "rchar: 9\nwchar: 9\nread_bytes: 4096\nwrite_bytes: 12288\n\
                    cancelled_write_bytes: 4096\n";
        assert_eq!(DiskSums::parse(text), DiskSums { read: 4096, written: 8192 });
        assert_eq!(DiskSums::parse("nothing"), DiskSums::default());
    }
}
