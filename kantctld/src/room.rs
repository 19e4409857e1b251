//! How much room is left on the disk of the state directory: before there is none, jobs are no
//! longer accepted, while those that run are still told of. Never judges the log's own writes.

use common::config::ControllerConfig;
use nix::sys::statvfs::statvfs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A look counts for so long.
const LOOK_LASTS: Duration = Duration::from_secs(1);

/// The disk is nearly full.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no jobs are accepted: {} MiB are free on the disk of {dir}, and `disk_reserve_mib` keeps \
     {reserve_mib} for those that run; free some, then submit again", free_bytes >> 20
)]
pub struct NearlyFull {
    dir: String,
    free_bytes: u64,
    reserve_mib: u64,
}

#[derive(Debug)]
pub struct Room {
    dir: PathBuf,
    reserve_mib: u64,
    last: Mutex<Option<(Instant, u64)>>,
}

impl Room {
    /// Of the state directory.
    #[must_use]
    pub fn new(config: &ControllerConfig) -> Self {
        let dir = PathBuf::from(&config.state_dir);
        Self { dir, reserve_mib: config.disk_reserve_mib, last: Mutex::default() }
    }

    /// Is there more than the reserve? A disk that does not say counts as one with room: the log
    /// finds out.
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
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, free)) = last.filter(|(at, _)| at.elapsed() < LOOK_LASTS) {
            return free;
        }
        let free = match statvfs(&self.dir) {
            Ok(disk) => disk.blocks_available().saturating_mul(disk.fragment_size()),
            Err(error) => {
                tracing::debug!("failed to ask for the room in {}: {error}", self.dir.display());
                u64::MAX
            }
        };
        *last = Some((Instant::now(), free));
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(reserve_mib: u64) -> Room {
        let dir = std::env::temp_dir().display().to_string();
        Room::new(&ControllerConfig {
            state_dir: dir,
            disk_reserve_mib: reserve_mib,
            ..ControllerConfig::default()
        })
    }

    #[test]
    fn with_less_room_than_the_reserve_nothing_is_accepted() {
        assert_eq!(room(0).check(), Ok(()));
        let told = room(1 << 40).check().unwrap_err().to_string();
        assert!(told.contains("disk_reserve_mib") && told.contains("MiB are free"), "{told}");
    }

    #[test]
    fn a_disk_that_does_not_say_counts_as_one_with_room() {
        let gone = Room { dir: "/nonexistent/kant".into(), ..room(64) };
        assert_eq!(gone.check(), Ok(()));
    }
}
