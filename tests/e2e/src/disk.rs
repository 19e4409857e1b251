//! The cost of a sync on the disk of a test directory, which benchmarks report with their figures.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

const SYNCS: usize = 200;
/// The approximate size of a log record with a small job.
const RECORD: [u8; 512] = [7; 512];

/// The times of several durable writes of 512 bytes (fdatasync(2)).
///
/// # Errors
/// When a system call fails.
pub fn sync_times(dir: &Path) -> anyhow::Result<Vec<Duration>> {
    let path = dir.join("fsync-probe");
    let mut file = File::create(&path)?;
    let mut times = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let begin = Instant::now();
        file.write_all(&RECORD)?;
        file.sync_data()?;
        times.push(begin.elapsed());
    }
    std::fs::remove_file(&path)?;
    Ok(times)
}
