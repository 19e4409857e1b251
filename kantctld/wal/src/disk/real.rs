//! The real disk: one directory through std::fs, with positional writes, locked with flock.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{Disk, DiskFile};

/// A directory in a file system of this host.
#[derive(Debug)]
pub struct RealDisk {
    path: PathBuf,
    /// Kept open for `sync_dir`.
    directory: File,
}

impl RealDisk {
    /// Opens a directory; creates it (mode 0700) if its parent exists.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<RealDisk> {
        let path = path.into();
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => sync_parent(&path)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let directory = File::open(&path)?;
        Ok(RealDisk { path, directory })
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

impl Disk for RealDisk {
    type File = File;
    type Lock = File;

    fn display_path(&self, name: &str) -> String {
        if name.is_empty() {
            return self.path.display().to_string();
        }
        self.path.join(name).display().to_string()
    }

    fn lock(&self, name: &str) -> io::Result<File> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.path.join(name))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn create(&self, name: &str) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.path.join(name))
    }

    fn open(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.path.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for found in fs::read_dir(&self.path)? {
            // The log's own names are ASCII.
            if let Ok(name) = found?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.directory.sync_all()
    }
}

impl DiskFile for File {
    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
