//! The few things the log asks of a disk, so that a simulated one can stand in for the real one.
//! A disk is one flat directory. It never retries and never hides an error.

use std::io;

pub(crate) mod memory;
pub(crate) mod real;

/// One directory of files.
pub trait Disk: Send + Sync {
    type File: DiskFile;
    /// Holds the exclusive lock until dropped.
    type Lock: Send + Sync;

    /// How to name a file (or, with an empty name, the directory) in a message to an operator.
    fn place(&self, name: &str) -> String;
    /// Takes the exclusive lock on a file, made if missing. `WouldBlock` when another holds it.
    fn lock(&self, name: &str) -> io::Result<Self::Lock>;
    /// Makes an empty file, or empties an existing one. Its name lasts only after `sync_dir`.
    fn create(&self, name: &str) -> io::Result<Self::File>;
    /// Opens an existing file for reading and writing.
    fn open(&self, name: &str) -> io::Result<Self::File>;
    /// Gives a file another name, replacing what bore it. Lasts only after `sync_dir`.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a name. Lasts only after `sync_dir`.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// The names of all files, in any order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes all creations, renames and removals so far last.
    fn sync_dir(&self) -> io::Result<()>;
}

/// One open file, read and written at given byte offsets.
pub trait DiskFile: Send + Sync {
    /// Its length in bytes.
    fn len_bytes(&self) -> io::Result<u64>;
    /// Fills the buffer from `offset`; an error if the file ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Writes all bytes at `offset`, growing the file as needed. Lasts only after `sync`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// fdatasync: makes all writes so far last, and the length as far as needed to read them.
    fn sync(&self) -> io::Result<()>;
}

/// The whole of a file.
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
