//! The kernel module nvidia-uvm and its device file, which every CUDA program opens. On many hosts
//! the first CUDA program loads it, through the setuid program nvidia-modprobe; a job in a sandbox
//! may not load modules, so kantd does it at its start.

use std::path::Path;
use std::process::{Command, Stdio};

/// Loads the module and makes its device file if the NVIDIA driver is loaded and one of them is
/// missing; the file alone outlives the module. `root`: where /proc and /dev are. Returns a
/// sentence if one is still missing.
///
/// Source: man nvidia-modprobe, `-u` and `-c`.
pub fn make_device(root: &Path, program: &str) -> Option<String> {
    let is_missing = || {
        let devices = std::fs::read_to_string(root.join("proc/devices")).unwrap_or_default();
        let is_loaded = devices.split_whitespace().any(|word| word == "nvidia-uvm");
        !is_loaded || !root.join("dev/nvidia-uvm").exists()
    };
    if !root.join("proc/driver/nvidia/version").exists() || !is_missing() {
        return None;
    }
    let mut command = Command::new(program);
    command.args(["-u", "-c=0"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let why = match command.status() {
        Ok(_) if !is_missing() => return None,
        Ok(status) => format!("nvidia-modprobe ended with {status}"),
        Err(error) => format!("failed to run nvidia-modprobe: {error}"),
    };
    Some(format!(
        "CUDA programs: the kernel module nvidia-uvm or its device file is missing: {why}; load it \
         at boot and restart kantd"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_device_file_is_made_once_where_there_is_a_driver() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert_eq!(make_device(root, "/nonexistent"), None, "no driver");
        fs::create_dir_all(root.join("proc/driver/nvidia")).unwrap();
        fs::write(root.join("proc/driver/nvidia/version"), "590.1").unwrap();
        let missing = make_device(root, "/nonexistent").unwrap();
        assert!(missing.contains("failed to run nvidia-modprobe: No such file"), "{missing}");
        let failed = make_device(root, "/bin/false").unwrap();
        assert!(failed.contains("ended with exit status: 1"), "{failed}");
        // The module was unloaded, and its file stayed.
        fs::create_dir(root.join("dev")).unwrap();
        fs::write(root.join("dev/nvidia-uvm"), "").unwrap();
        assert!(make_device(root, "/bin/false").is_some());
        let program = root.join("modprobe");
        let load = "[ \"$*\" = '-u -c=0' ] && echo '511 nvidia-uvm' > \"${0%/*}/proc/devices\"";
        fs::write(&program, format!("#!/bin/sh\n{load}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        // A child of another test can have the file open for a moment, and then it does not run.
        let program = format!("{}", program.display());
        while let Some(why) = make_device(root, &program) {
            assert!(why.contains("Text file busy"), "{why}");
        }
        assert!(root.join("proc/devices").exists());
    }
}
