//! The programs that commands here run: cargo itself, and whether others exist.

use std::path::Path;
use std::process::{Command, Stdio};

/// The cargo that runs us.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    e2e::forget_the_outer_cargo(&mut cargo);
    cargo
}

/// Does `cargo NAME` exist?
pub fn has_subcommand(name: &str) -> bool {
    let asked =
        cargo().args([name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// Is there a file that may be executed?
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
