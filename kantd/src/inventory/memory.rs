//! How much memory the machine has, from /proc/meminfo. Never says how much is free: jobs get
//! shares of the whole, whatever the page cache does meanwhile.

use super::host::{Host, InventoryError};
use common::unit::Bytes;

pub(super) fn total(host: &Host) -> Result<Bytes, InventoryError> {
    let path = "proc/meminfo";
    let text = host.read(path)?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")).and_then(kibibytes);
    total.ok_or_else(|| host.malformed(path, &text, "a meminfo with MemTotal"))
}

/// What is left for jobs.
pub(super) fn offered(total: Bytes, kept_back: Bytes) -> Result<Bytes, InventoryError> {
    if kept_back >= total {
        return Err(InventoryError::MemoryKeptBack { kept_back, total });
    }
    Ok(total - kept_back)
}

/// Reads `  1024 kB`.
pub(super) fn kibibytes(text: &str) -> Option<Bytes> {
    let number: u64 = text.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(number.saturating_mul(1024)))
}
