//! What a sync costs on the disk that a house lies on, so that no figure is read without it. Never
//! leaves its file behind.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

const SYNCS: usize = 200;
/// About a log record with a small job in it.
const RECORD: [u8; 512] = [7; 512];

/// How long each of some writes of 512 bytes takes until it is durable (fdatasync(2)).
///
/// # Errors
/// The system's.
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
