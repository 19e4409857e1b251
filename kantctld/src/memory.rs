//! Return of freed memory to the system, so that one large request does not leave a process that
//! stays large.

use std::time::Duration;

/// Blocks of at least this size are mapped separately and returned when freed. By default glibc's
/// allocator raises the threshold to the largest block ever freed, and keeps smaller ones (man 3
/// mallopt, M_MMAP_THRESHOLD).
#[cfg(target_env = "gnu")]
const LARGE_BYTES: libc::c_int = 1 << 20;
/// How often free memory of small blocks is returned.
const EVERY: Duration = Duration::from_secs(60);

/// Makes the allocator return large blocks when they are freed.
pub fn return_large_blocks() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: this only sets a parameter of the allocator.
        let is_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES) };
        if is_set == 0 {
            tracing::warn!("failed to set the allocator's threshold for large blocks");
        }
    }
}

/// Returns the free memory of small blocks every minute.
pub async fn trim_every_minute() {
    loop {
        tokio::time::sleep(EVERY).await;
        // It takes the allocator's locks one by one. An error means that the process ends.
        let _ = tokio::task::spawn_blocking(trim).await;
    }
}

fn trim() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: this returns free pages, and any thread may call it.
        let _gave_some = unsafe { libc::malloc_trim(0) };
    }
}
