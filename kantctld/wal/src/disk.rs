//! The operations that the log needs from a disk, so that a simulated disk can replace the real
//! one. A disk is one flat directory; its errors are returned, not retried.

use std::io;

#[cfg(any(test, feature = "testing"))]
pub(crate) mod memory;
pub(crate) mod real;

/// One directory of files.
pub trait Disk: Send + Sync {
    type File: DiskFile;
    /// Holds the exclusive lock until dropped.
    type Lock: Send + Sync;

    /// The name of a file (or, for an empty name, of the directory) in messages to an operator.
    fn display_path(&self, name: &str) -> String;
    /// Takes the exclusive lock on a file, created if missing. `WouldBlock` if another holds it.
    fn lock(&self, name: &str) -> io::Result<Self::Lock>;
    /// Creates an empty file, or truncates an existing one. The name is durable after `sync_dir`.
    fn create(&self, name: &str) -> io::Result<Self::File>;
    /// Opens an existing file for reading and writing.
    fn open(&self, name: &str) -> io::Result<Self::File>;
    /// Renames a file, replacing an existing one. Durable after `sync_dir`.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a name. Durable after `sync_dir`.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// The names of all files, in any order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes all creations, renames and removals so far durable.
    fn sync_dir(&self) -> io::Result<()>;
}

/// One open file, read and written at given byte offsets.
pub trait DiskFile: Send + Sync {
    /// The length in bytes.
    fn len_bytes(&self) -> io::Result<u64>;
    /// Fills the buffer from `offset`; an error if the file is too short.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Writes all bytes at `offset`; the file grows as needed. Durable after `sync`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// fdatasync: makes all writes so far durable, and the length as far as needed to read them.
    fn sync(&self) -> io::Result<()>;
}

/// Reads a whole file.
pub(crate) fn read_all(file: &impl DiskFile) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.len_bytes()?).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// Writes `count` zero bytes from `offset`, so that later writes there change no metadata.
pub(crate) fn fill_zeros(file: &impl DiskFile, offset: u64, count: u64) -> io::Result<()> {
    static CHUNK: [u8; 64 << 10] = [0; 64 << 10];
    let end = offset + count;
    let mut at = offset;
    while at < end {
        let step = (end - at).min(CHUNK.len() as u64);
        file.write_at(at, &CHUNK[..step as usize])?;
        at += step;
    }
    Ok(())
}
