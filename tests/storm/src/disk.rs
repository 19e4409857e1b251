//! A controller's disk: `wal`'s simulated disk, with a count of syncs and, for a mutant, syncs
//! that report success and do nothing.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wal::{Disk, DiskFile, MemDisk};

#[derive(Clone)]
pub struct StormDisk {
    /// The disk underneath, which the world crashes.
    pub memory: MemDisk,
    /// Number of syncs.
    pub syncs: Arc<AtomicU64>,
    /// Files report that they are synced, and are not.
    pub lies: bool,
}

pub struct StormFile {
    file: <MemDisk as Disk>::File,
    syncs: Arc<AtomicU64>,
    lies: bool,
}

impl StormDisk {
    /// An empty disk.
    pub fn new(lies: bool) -> Self {
        Self { memory: MemDisk::new(), syncs: Arc::default(), lies }
    }

    pub fn sync_count(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    fn file(&self, file: <MemDisk as Disk>::File) -> StormFile {
        StormFile { file, syncs: self.syncs.clone(), lies: self.lies }
    }
}

/// The length in bytes of the beginning of a log segment that later records prove to be synced: the
/// head, and the records up to the last one that a later record names as durable (decision 0005 has
/// the layout).
pub fn proved_bytes(segment: &[u8]) -> u64 {
    const HEAD: usize = 48;
    const RECORD_HEAD: usize = 24;
    let number = |at: usize| {
        let bytes = segment.get(at..at + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let (mut at, mut ends, mut sworn) = (HEAD, Vec::new(), 0);
    while let (Some(first), Some(sequence), Some(durable)) =
        (number(at), number(at + 8), number(at + 16))
    {
        let body = usize::try_from(first & 0xffff_ffff).unwrap_or(0);
        let is_next = ends.last().is_none_or(|(before, _)| before + 1 == sequence);
        if body == 0 || !is_next {
            break;
        }
        at += RECORD_HEAD + body.next_multiple_of(8);
        ends.push((sequence, at as u64));
        sworn = durable;
    }
    let proved = ends.iter().rev().find(|(sequence, _)| *sequence <= sworn);
    proved.map_or(0, |(_, end)| *end)
}

impl Disk for StormDisk {
    type File = StormFile;
    type Lock = <MemDisk as Disk>::Lock;

    fn display_path(&self, name: &str) -> String {
        self.memory.display_path(name)
    }

    fn lock(&self, name: &str) -> io::Result<Self::Lock> {
        self.memory.lock(name)
    }

    fn create(&self, name: &str) -> io::Result<StormFile> {
        Ok(self.file(self.memory.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<StormFile> {
        Ok(self.file(self.memory.open(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.memory.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.memory.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.memory.list()
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        // Directories are always synced: losing names would only keep the next start from
        // beginning.
        self.memory.sync_dir()
    }
}

impl DiskFile for StormFile {
    fn len_bytes(&self) -> io::Result<u64> {
        self.file.len_bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        if self.lies { Ok(()) } else { self.file.sync() }
    }
}
