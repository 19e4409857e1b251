//! The kernel's files about the machine, below a root that tests can set.

use common::cpuset::CpuSet;
use common::unit::Bytes;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A machine that cannot be inventoried.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// A file that every Linux has is missing.
    #[error("failed to read {}: check that /proc and /sys are mounted", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to parse {}: `{text}` is not {expected}", path.display())]
    Malformed { path: PathBuf, text: String, expected: &'static str },
    /// The operator offers CPUs that do not exist.
    #[error(
        "failed to offer CPUs {missing}: this machine has {online} online; correct `cpus` in the \
         configuration"
    )]
    CpusMissing { missing: CpuSet, online: CpuSet },
    #[error(
        "failed to offer memory: `memory_kept_back` is {kept_back} and this machine has {total}"
    )]
    MemoryKeptBack { kept_back: Bytes, total: Bytes },
}

/// A machine, by the directory that contains its `sys` and `proc`.
#[derive(Debug, Clone)]
pub struct Host {
    root: PathBuf,
}

impl Host {
    #[must_use]
    pub fn here() -> Self {
        Self::at(Path::new("/"))
    }

    /// The machine whose files are below `root`.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The text of a file; the path is relative to the root.
    pub(super) fn read(&self, path: &str) -> Result<String, InventoryError> {
        let path = self.root.join(path);
        fs::read_to_string(&path).map_err(|source| InventoryError::Read { path, source })
    }

    /// The text of a file that may be missing.
    pub(super) fn read_if_any(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// Parses a file with a list of CPUs.
    pub(super) fn read_cpus(&self, path: &str) -> Result<CpuSet, InventoryError> {
        let text = self.read(path)?;
        text.trim().parse().map_err(|_| self.malformed(path, &text, "a list of CPUs"))
    }

    /// The sorted names in a directory; none if it does not exist.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// The target of a link as names from the root on; `None` if it is dangling.
    pub(super) fn follow(&self, link: &str) -> Option<Vec<String>> {
        let root = fs::canonicalize(&self.root).ok()?;
        let end = fs::canonicalize(self.root.join(link)).ok()?;
        let names = end.strip_prefix(root).ok()?.iter();
        names.map(|name| name.to_str().map(str::to_owned)).collect()
    }

    /// The sorted numbers N of the entries `<prefix>N` of a directory; none if it does not exist.
    pub(super) fn numbered(&self, directory: &str, prefix: &str) -> Vec<u16> {
        let entries = fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten();
        let number = |entry: fs::DirEntry| {
            entry.file_name().to_str()?.strip_prefix(prefix)?.parse::<u16>().ok()
        };
        let mut numbers: Vec<u16> = entries.filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    pub(super) fn malformed(
        &self,
        path: &str,
        text: &str,
        expected: &'static str,
    ) -> InventoryError {
        InventoryError::Malformed {
            path: self.root.join(path),
            text: text.trim().chars().take(100).collect(),
            expected,
        }
    }
}
