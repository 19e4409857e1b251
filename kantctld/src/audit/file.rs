//! The file of the audit log. It is opened for each write, so that another program may move or
//! truncate it, and is renamed at its size limit. Only whole lines are written.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

pub(super) struct AuditFile {
    path: PathBuf,
    /// 0 means no limit.
    bytes_max: u64,
}

impl AuditFile {
    pub(super) fn new(path: PathBuf, bytes_max: u64) -> Self {
        Self { path, bytes_max }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends whole lines, all or none.
    pub(super) fn append(&self, text: &str) -> io::Result<()> {
        let mut file = self.open()?;
        let mut length = file.metadata()?.len();
        let added = text.len() as u64;
        if self.bytes_max > 0 && length > 0 && length.saturating_add(added) > self.bytes_max {
            std::fs::rename(&self.path, self.rotated_path())?;
            file = self.open()?;
            length = file.metadata()?.len();
        }
        // A power failure may have left a part of a line.
        let mut last = [b'\n'];
        if length > 0 {
            file.read_exact_at(&mut last, length - 1)?;
        }
        let begin = if last == *b"\n" { "" } else { "\n" };
        let written =
            file.write_all(begin.as_bytes()).and_then(|()| file.write_all(text.as_bytes()));
        if written.is_err() {
            // The disk is full: remove the partial text. The first error is returned anyway.
            let _ = file.set_len(length);
        }
        written
    }

    fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let file = options.custom_flags(libc::O_NOFOLLOW).open(&self.path)?;
        let found = file.metadata()?;
        // An existing file may have another mode.
        if found.is_file() && found.permissions().mode() & 0o177 != 0 {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        Ok(file)
    }

    fn rotated_path(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".1");
        name.into()
    }
}
