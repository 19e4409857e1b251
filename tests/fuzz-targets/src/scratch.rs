//! A directory in memory for functions that read files.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The directory of this thread's files, made once for each process.
fn dir() -> &'static Path {
    static DIR: OnceLock<TempDir> = OnceLock::new();
    DIR.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        tempfile::tempdir_in(parent).unwrap()
    })
    .path()
}

/// Writes a file, and returns its path.
pub fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}
