//! A file system of a few MiB in a test directory, which can be filled completely. Only root can
//! mount one.

use anyhow::ensure;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tmpfs that is unmounted when dropped.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a tmpfs; `size` as for mount.
    ///
    /// # Errors
    /// When mount fails, as without root.
    pub fn mount(dir: &Path, size: &str) -> anyhow::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let options = format!("size={size},mode=700");
        let mut command = Command::new("mount");
        let status =
            command.args(["-t", "tmpfs", "-o", &options, "kant-small"]).arg(dir).status()?;
        ensure!(status.success(), "mount ended with {status}");
        Ok(Self(dir.to_owned()))
    }

    /// Makes it read-only or writable. It cannot become read-only while a file is open for writing.
    ///
    /// # Errors
    /// When mount fails.
    pub fn set_read_only(&self, is_read_only: bool) -> anyhow::Result<()> {
        let options = if is_read_only { "remount,ro" } else { "remount,rw" };
        let status = Command::new("mount").args(["-o", options]).arg(&self.0).status()?;
        ensure!(status.success(), "mount -o {options} ended with {status}");
        Ok(())
    }

    /// Writes a file until the disk is full; removing the file frees the space.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn fill(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.0.join(name);
        let mut file = std::fs::File::create(&path)?;
        let mut chunk = vec![1_u8; 1 << 20];
        loop {
            match file.write(&chunk) {
                Ok(_) => {}
                Err(_) if chunk.len() > 1 => chunk.truncate(chunk.len() / 2),
                Err(_) => return Ok(path),
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a daemon that uses it may not have ended yet.
        let status = Command::new("umount").arg("-l").arg(&self.0).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("failed to unmount {}", self.0.display());
        }
    }
}
