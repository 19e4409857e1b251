//! The machine's memory, from /proc/meminfo. Free memory does not matter: jobs get shares of the
//! total.

use super::host::{Host, InventoryError};
use common::unit::Bytes;

pub(super) fn total(host: &Host) -> Result<Bytes, InventoryError> {
    let path = "proc/meminfo";
    let text = host.read(path)?;
    let total =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")).and_then(parse_kibibytes);
    total.ok_or_else(|| host.malformed(path, &text, "a meminfo with MemTotal"))
}

/// The memory offered to jobs.
pub(super) fn offered(total: Bytes, kept_back: Bytes) -> Result<Bytes, InventoryError> {
    if kept_back >= total {
        return Err(InventoryError::MemoryKeptBack { kept_back, total });
    }
    Ok(total - kept_back)
}

/// Parses `  1024 kB`.
pub(super) fn parse_kibibytes(text: &str) -> Option<Bytes> {
    let number: u64 = text.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(number.saturating_mul(1024)))
}
