//! Which boot of the machine this is, and whether it is over. Never guesses from uptime.

use std::io;

/// What tells this boot from any other.
pub fn boot_id() -> io::Result<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(text.trim().to_owned())
}

/// Has systemd ended all units, and now ends what is left of the processes? It has become another
/// program by then (systemd-shutdown(8)), whose name the kernel cuts short.
pub fn is_over() -> bool {
    std::fs::read_to_string("/proc/1/comm").is_ok_and(|name| name.starts_with("systemd-shutdo"))
}
