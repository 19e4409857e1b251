//! A guard on the free space of the state directory's disk: below the reserve, new jobs are refused
//! while running jobs can still be recorded. The log's own writes are not checked.

use common::config::ControllerConfig;
use common::sync::Mutex;
use nix::sys::statvfs::statvfs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a measurement is reused.
const REUSE_FOR: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no new jobs are accepted: the disk of {dir} has {} MiB free, and `disk_reserve_mib` keeps \
     {reserve_mib} MiB for running jobs; free some space, then submit again", free_bytes >> 20
)]
pub struct NearlyFull {
    dir: String,
    free_bytes: u64,
    reserve_mib: u64,
}

#[derive(Debug)]
pub struct DiskGuard {
    dir: PathBuf,
    reserve_mib: u64,
    last: Mutex<Option<(Instant, u64)>>,
}

impl DiskGuard {
    /// Guards the state directory.
    #[must_use]
    pub fn new(config: &ControllerConfig) -> Self {
        let dir = PathBuf::from(&config.state_dir);
        Self { dir, reserve_mib: config.disk_reserve_mib, last: Mutex::default() }
    }

    /// Checks that more than the reserve is free. If the free space cannot be read, the check
    /// passes: a full disk then shows as a failed write of the log.
    ///
    /// # Errors
    /// [`NearlyFull`].
    pub fn check(&self) -> Result<(), NearlyFull> {
        let free_bytes = self.free_bytes();
        if free_bytes >> 20 >= self.reserve_mib {
            return Ok(());
        }
        let (dir, reserve_mib) = (self.dir.display().to_string(), self.reserve_mib);
        Err(NearlyFull { dir, free_bytes, reserve_mib })
    }

    fn free_bytes(&self) -> u64 {
        let mut last = self.last.lock();
        if let Some((_, free)) = last.filter(|(at, _)| at.elapsed() < REUSE_FOR) {
            return free;
        }
        let free = free_bytes(&self.dir);
        *last = Some((Instant::now(), free));
        free
    }
}

/// The free space of a directory's disk; the greatest number if it cannot be read.
pub fn free_bytes(dir: &Path) -> u64 {
    match statvfs(dir) {
        Ok(disk) => disk.blocks_available().saturating_mul(disk.fragment_size()),
        Err(error) => {
            tracing::debug!("failed to read the free space of {}: {error}", dir.display());
            u64::MAX
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(reserve_mib: u64) -> DiskGuard {
        let dir = std::env::temp_dir().display().to_string();
        DiskGuard::new(&ControllerConfig {
            state_dir: dir,
            disk_reserve_mib: reserve_mib,
            ..ControllerConfig::default()
        })
    }

    #[test]
    fn nothing_is_accepted_with_less_space_than_the_reserve() {
        assert_eq!(guard(0).check(), Ok(()));
        let message = guard(1 << 40).check().unwrap_err().to_string();
        assert!(message.contains("disk_reserve_mib") && message.contains("MiB free"), "{message}");
    }

    #[test]
    fn an_unreadable_disk_counts_as_one_with_space() {
        let gone = DiskGuard { dir: "/nonexistent/kant".into(), ..guard(64) };
        assert_eq!(gone.check(), Ok(()));
    }
}
