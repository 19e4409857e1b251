//! The file of the audit log. It is opened for each write, so that another program may move or
//! truncate it, and is renamed at its size limit. Only whole lines are written.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// More than the longest line.
const TAIL_BYTES: u64 = 64 << 10;

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
            std::fs::rename(&self.path, rotated_path(&self.path))?;
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

    /// The last whole line of the file, or of the one before it.
    pub(super) fn last_line(&self) -> io::Result<String> {
        for path in [self.path.clone(), rotated_path(&self.path)] {
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let length = file.metadata()?.len();
            let tail = length.min(TAIL_BYTES);
            let mut bytes = vec![0; usize::try_from(tail).unwrap_or_default()];
            file.read_exact_at(&mut bytes, length - tail)?;
            let text = String::from_utf8_lossy(&bytes);
            if let Some(line) = text.lines().next_back() {
                return Ok(line.to_owned());
            }
        }
        Ok(String::new())
    }
}

/// Where a file is moved at its size limit.
pub(super) fn rotated_path(path: &Path) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(".1");
    name.into()
}
