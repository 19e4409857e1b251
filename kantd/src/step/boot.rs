//! Which boot of the machine this is. Never guesses from uptime.

use std::io;

/// What tells this boot from any other.
pub fn boot_id() -> io::Result<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(text.trim().to_owned())
}
