//! The kernel's files about the machine, under a root that tests can move. Never writes.

use common::cpuset::CpuSet;
use common::unit::Bytes;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why the machine could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// A file that every Linux has cannot be read.
    #[error("failed to read {}: is /proc and /sys mounted here?", path.display())]
    Read {
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file holds something else than it should.
    #[error("failed to understand {}: `{text}` is not {expected}", path.display())]
    Malformed {
        path: PathBuf,
        text: String,
        /// What it should say.
        expected: &'static str,
    },
    /// The operator offers CPUs that are not there.
    #[error(
        "failed to offer CPUs {missing}: this machine has {online} online; correct `cpus` in the \
         configuration"
    )]
    CpusMissing {
        /// What is not there.
        missing: CpuSet,
        online: CpuSet,
    },
    /// The operator keeps everything back.
    #[error(
        "failed to offer memory: `memory_kept_back` is {kept_back} and this machine has {total}"
    )]
    MemoryKeptBack {
        /// What is kept back.
        kept_back: Bytes,
        total: Bytes,
    },
}

/// A machine, by the directory that holds its `sys` and `proc`.
#[derive(Debug, Clone)]
pub struct Host {
    root: PathBuf,
}

impl Host {
    #[must_use]
    pub fn here() -> Self {
        Self::at(Path::new("/"))
    }

    /// A machine whose files stand under `root`.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The text of a file, its path given from the root without a leading slash.
    pub(super) fn read(&self, path: &str) -> Result<String, InventoryError> {
        let path = self.root.join(path);
        fs::read_to_string(&path).map_err(|source| InventoryError::Read { path, source })
    }

    /// The text of a file that not every kernel has.
    pub(super) fn read_if_any(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// A file that is a list of CPUs.
    pub(super) fn read_cpus(&self, path: &str) -> Result<CpuSet, InventoryError> {
        let text = self.read(path)?;
        text.trim().parse().map_err(|_| self.malformed(path, &text, "a list of CPUs"))
    }

    /// The names in a directory, rising; none if it is not there.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Where a link leads in the end, as names from the root on; `None` if it leads nowhere.
    pub(super) fn follow(&self, link: &str) -> Option<Vec<String>> {
        let root = fs::canonicalize(&self.root).ok()?;
        let end = fs::canonicalize(self.root.join(link)).ok()?;
        let names = end.strip_prefix(root).ok()?.iter();
        names.map(|name| name.to_str().map(str::to_owned)).collect()
    }

    /// The numbers N of the entries `<prefix>N` of a directory, rising; none if it is not there.
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
