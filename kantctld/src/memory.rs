//! Has freed memory go back to the system: a user who brought much and took it away must not leave
//! a process that is as large for ever. Never decides what is freed.

use std::time::Duration;

/// A block of this size is mapped by itself, and goes back once it is freed. Without a word the
/// allocator of glibc raises that size to the largest block that was ever freed, and keeps smaller
/// ones (man 3 mallopt, M_MMAP_THRESHOLD).
#[cfg(target_env = "gnu")]
const LARGE_BYTES: libc::c_int = 1 << 20;
/// How often what small blocks left is given back.
const EVERY: Duration = Duration::from_secs(60);

/// Large blocks go back when they are freed.
pub fn return_large_blocks() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: it only sets a number of the allocator.
        let is_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES) };
        if is_set == 0 {
            tracing::warn!("failed to tell the allocator which blocks are large");
        }
    }
}

/// Gives back what small blocks left, now and then.
pub async fn return_the_rest() {
    loop {
        tokio::time::sleep(EVERY).await;
        // It takes the allocator's locks, one after the other. An error: the process ends.
        let _ = tokio::task::spawn_blocking(trim).await;
    }
}

fn trim() {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: it gives back pages that hold nothing, and may be called by any thread.
        let _gave_some = unsafe { libc::malloc_trim(0) };
    }
}
