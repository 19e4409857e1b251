//! Starting a step's supervisor. The process started here ends as soon as the supervisor is ready.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Runs `kantd step`, which ends as soon as the supervisor is ready.
pub fn start_supervisor(program: PathBuf, dir: PathBuf) -> Result<(), String> {
    let output = Command::new(&program)
        .arg0("kantd")
        .args(["step", "--dir"])
        .arg(dir)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let taken = i32::from(super::super::EXIT_TAKEN);
    if output.status.success() || output.status.code() == Some(taken) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{} ({})", said.trim(), output.status))
}
