//! A simulated disk in memory for tests, which decide what a crash loses. A write without `sync`
//! may be missing, complete, a prefix, or any of its sectors. Creates, renames and removes without
//! `sync_dir` may be undone, the latest first. A failed sync drops the pending writes while reads
//! still show them, as on Linux: a second sync then "succeeds".

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, DiskFile};

/// The unit of an atomic write, in bytes.
const SECTOR_BYTES: u64 = 512;

/// A simulated disk. Clones share one disk, so that a test can crash it under its user.
#[derive(Debug, Clone, Default)]
pub struct MemDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Counts restarts: handles from before a restart fail.
    generation: u64,
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    unsynced_names: Vec<Change>,
    locked: BTreeSet<String>,
    capacity_bytes: Option<u64>,
    syncs_until_failure: Option<u32>,
    writes_until_failure: Option<u32>,
}

#[derive(Debug, Default)]
struct Inode {
    /// What at least survives a power failure.
    durable: Vec<u8>,
    current: Vec<u8>,
    unsynced: Vec<Write>,
}

#[derive(Debug)]
struct Write {
    offset: u64,
    bytes: Vec<u8>,
}

#[derive(Debug)]
enum Change {
    Link(String, usize),
    Rename(String, String),
    Remove(String),
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Change::Link(name, inode) => {
                names.insert(name.clone(), *inode);
            }
            Change::Rename(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
            Change::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

impl MemDisk {
    /// An empty disk without limits.
    pub fn new() -> MemDisk {
        MemDisk::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere in a test must not be hidden by a second one here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A power failure: unsynced writes and names survive as `pick` decides, where `pick(n)`
    /// returns any number below n. Handles and locks from before are invalid afterwards.
    pub fn crash(&self, pick: &mut dyn FnMut(usize) -> usize) {
        let mut state = self.state();
        let kept = pick(state.unsynced_names.len() + 1);
        let mut names = std::mem::take(&mut state.durable_names);
        for change in &state.unsynced_names[..kept] {
            change.apply(&mut names);
        }
        for inode in &mut state.inodes {
            for write in std::mem::take(&mut inode.unsynced) {
                apply_surviving(&mut inode.durable, &write, pick);
            }
            inode.current = inode.durable.clone();
        }
        state.names = names.clone();
        state.durable_names = names;
        state.unsynced_names.clear();
        state.begin_generation();
    }

    /// The process is killed, but the host keeps running: no write is lost.
    pub fn restart(&self) {
        self.state().begin_generation();
    }

    /// Lets `count` more syncs (of files or the directory) succeed, then fails one.
    pub fn fail_sync_after(&self, count: u32) {
        self.state().syncs_until_failure = Some(count);
    }

    /// Lets `count` more writes succeed, then fails one half way.
    pub fn fail_write_after(&self, count: u32) {
        self.state().writes_until_failure = Some(count);
    }

    /// Limits the total size of all files; None removes the limit.
    pub fn set_capacity_bytes(&self, capacity_bytes: Option<u64>) {
        self.state().capacity_bytes = capacity_bytes;
    }

    /// The total size of all files.
    pub fn used_bytes(&self) -> u64 {
        self.state().used_bytes()
    }

    /// The content of a file as reads see it.
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = *state.names.get(name)?;
        Some(state.inodes[inode].current.clone())
    }

    /// Changes a byte durably, bypassing the user: bit rot. No effect past the end.
    pub fn corrupt_byte(&self, name: &str, offset: u64, damage: impl FnOnce(&mut u8)) {
        let mut state = self.state();
        let Some(&inode) = state.names.get(name) else { return };
        let inode = &mut state.inodes[inode];
        if let Some(byte) = inode.current.get_mut(offset as usize) {
            damage(byte);
            let rotten = *byte;
            put(&mut inode.durable, offset, &[rotten]);
        }
    }
}

impl State {
    fn begin_generation(&mut self) {
        self.generation += 1;
        self.locked.clear();
        self.syncs_until_failure = None;
        self.writes_until_failure = None;
    }

    fn used_bytes(&self) -> u64 {
        self.names.values().map(|&inode| self.inodes[inode].current.len() as u64).sum()
    }

    fn check_sync(&mut self) -> io::Result<()> {
        count_down_to_failure(&mut self.syncs_until_failure)
    }

    fn inode_of(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.names);
        self.unsynced_names.push(change);
    }
}

/// Counts down to one failure; None never fails.
fn count_down_to_failure(left: &mut Option<u32>) -> io::Result<()> {
    match left {
        None => Ok(()),
        Some(0) => {
            *left = None;
            Err(io::Error::other("simulated disk failure"))
        }
        Some(count) => {
            *count -= 1;
            Ok(())
        }
    }
}

fn put(content: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let start = offset as usize;
    let end = start + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[start..end].copy_from_slice(bytes);
}

/// Applies what survives of one unsynced write in a power failure.
fn apply_surviving(durable: &mut Vec<u8>, write: &Write, pick: &mut dyn FnMut(usize) -> usize) {
    match pick(4) {
        0 => {}
        1 => put(durable, write.offset, &write.bytes),
        2 => {
            let kept = pick(write.bytes.len() + 1);
            put(durable, write.offset, &write.bytes[..kept]);
        }
        _ => {
            let mut at = write.offset;
            let mut rest = write.bytes.as_slice();
            while !rest.is_empty() {
                let room = (SECTOR_BYTES - at % SECTOR_BYTES) as usize;
                let (sector, later) = rest.split_at(room.min(rest.len()));
                if pick(2) == 1 {
                    put(durable, at, sector);
                }
                at += sector.len() as u64;
                rest = later;
            }
        }
    }
}

impl Disk for MemDisk {
    type File = MemFile;
    type Lock = MemLock;

    fn display_path(&self, name: &str) -> String {
        format!("memory:/{name}")
    }

    fn lock(&self, name: &str) -> io::Result<MemLock> {
        let mut state = self.state();
        if !state.locked.insert(name.to_string()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(MemLock { disk: self.clone(), name: name.to_string(), generation: state.generation })
    }

    fn create(&self, name: &str) -> io::Result<MemFile> {
        let mut state = self.state();
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        state.change(Change::Link(name.to_string(), inode));
        Ok(MemFile { disk: self.clone(), inode, generation: state.generation })
    }

    fn open(&self, name: &str) -> io::Result<MemFile> {
        let state = self.state();
        Ok(MemFile {
            disk: self.clone(),
            inode: state.inode_of(name)?,
            generation: state.generation,
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        state.inode_of(from)?;
        state.change(Change::Rename(from.to_string(), to.to_string()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.inode_of(name)?;
        state.change(Change::Remove(name.to_string()));
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state().names.keys().cloned().collect())
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.state();
        state.check_sync()?;
        state.unsynced_names.clear();
        state.durable_names = state.names.clone();
        Ok(())
    }
}

/// An open file on a [`MemDisk`].
#[derive(Debug)]
pub struct MemFile {
    disk: MemDisk,
    inode: usize,
    generation: u64,
}

impl MemFile {
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.state();
        if state.generation != self.generation {
            return Err(io::Error::other("handle from before the crash"));
        }
        Ok(state)
    }
}

impl DiskFile for MemFile {
    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.state()?.inodes[self.inode].current.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.state()?;
        let content = &state.inodes[self.inode].current;
        let start = offset as usize;
        let Some(found) = content.get(start..start + buffer.len()) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        buffer.copy_from_slice(found);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state()?;
        let broken = count_down_to_failure(&mut state.writes_until_failure);
        let bytes = if broken.is_err() { &bytes[..bytes.len() / 2] } else { bytes };
        let length = state.inodes[self.inode].current.len() as u64;
        let growth = (offset + bytes.len() as u64).saturating_sub(length);
        if let Some(capacity) = state.capacity_bytes
            && growth > 0
            && state.used_bytes() + growth > capacity
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let inode = &mut state.inodes[self.inode];
        put(&mut inode.current, offset, bytes);
        inode.unsynced.push(Write { offset, bytes: bytes.to_vec() });
        broken
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state()?;
        let failed = state.check_sync();
        let inode = &mut state.inodes[self.inode];
        for write in std::mem::take(&mut inode.unsynced) {
            if failed.is_ok() {
                put(&mut inode.durable, write.offset, &write.bytes);
            }
        }
        failed
    }
}

/// The exclusive lock on a [`MemDisk`] file.
#[derive(Debug)]
pub struct MemLock {
    disk: MemDisk,
    name: String,
    generation: u64,
}

impl Drop for MemLock {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if state.generation == self.generation {
            state.locked.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests;
