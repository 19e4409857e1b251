//! The id of this boot of the machine, and whether the machine is shutting down.

use std::io;

/// An id that differs for each boot.
pub fn boot_id() -> io::Result<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(text.trim().to_owned())
}

/// Whether the machine shuts down: systemd has ended all units and now kills the remaining
/// processes. PID 1 is then systemd-shutdown(8), a name that the kernel truncates.
pub fn is_shutting_down() -> bool {
    std::fs::read_to_string("/proc/1/comm").is_ok_and(|name| name.starts_with("systemd-shutdo"))
}
