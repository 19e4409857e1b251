//! Files ready to become segments: zero-filled ahead, or retired segments given a second life.
//! Their content never matters until one is taken, and none is believed at a start.

use std::sync::Arc;

use crate::disk::{self, Disk, DiskFile};
use crate::error::{Error, Result};
use crate::names;

/// More than this many are not hoarded.
const READY_MAX: usize = 2;

/// The stock of spare files.
pub(crate) struct Spares<D: Disk> {
    disk: Arc<D>,
    /// The size they all have.
    size_bytes: u64,
    ready: Vec<String>,
    next_number: u64,
}

/// A file taken from the stock, still under its spare name.
pub(crate) struct Spare<F> {
    pub name: String,
    pub file: F,
}

impl<D: Disk> Spares<D> {
    /// Takes over the spares of an earlier run; those of another size are removed. The others are
    /// filled anew: if the earlier run ended with a failed sync, only the cache may know them.
    pub fn new(disk: Arc<D>, size_bytes: u64, numbers: &[u64]) -> Result<Self> {
        let next_number = numbers.last().map_or(1, |last| last.saturating_add(1));
        let mut spares = Spares { disk, size_bytes, ready: Vec::new(), next_number };
        for &number in numbers {
            let name = names::spare(number);
            if spares.ready.len() < READY_MAX && spares.refill(&name)? {
                spares.ready.push(name);
            } else {
                spares.remove(&name)?;
            }
        }
        Ok(spares)
    }

    /// Whether the file could be made good again.
    fn refill(&self, name: &str) -> Result<bool> {
        let place = || self.disk.place(name);
        let file = self.disk.open(name).map_err(|e| Error::fatal("open", place(), e))?;
        let length = file.len_bytes().map_err(|e| Error::fatal("read", place(), e))?;
        if length != self.size_bytes {
            return Ok(false);
        }
        match self.fill(name, &file, length) {
            Err(Error::NoSpace { .. }) => Ok(false),
            filled => filled.map(|()| true),
        }
    }

    fn remove(&self, name: &str) -> Result<()> {
        let removed = self.disk.remove(name);
        removed.map_err(|source| Error::write("remove", self.disk.place(name), source))
    }

    /// A file of this size, from the stock if it fits, otherwise made now.
    pub fn take(&mut self, size_bytes: u64) -> Result<Spare<D::File>> {
        if size_bytes == self.size_bytes
            && let Some(name) = self.ready.pop()
        {
            let file = self
                .disk
                .open(&name)
                .map_err(|source| Error::fatal("open", self.disk.place(&name), source))?;
            return Ok(Spare { name, file });
        }
        self.make(size_bytes)
    }

    /// Takes back a file that could not be used after all.
    pub fn put_back(&mut self, name: String, size_bytes: u64) {
        if size_bytes == self.size_bytes {
            self.ready.push(name);
        } else {
            // Of no use, and not worth failing for: the next start removes what is left.
            let _ = self.disk.remove(&name);
        }
    }

    /// Makes one file ahead if none is ready.
    pub fn prepare(&mut self) -> Result<()> {
        if self.ready.is_empty() {
            let spare = self.make(self.size_bytes)?;
            self.ready.push(spare.name);
        }
        Ok(())
    }

    fn make(&mut self, size_bytes: u64) -> Result<Spare<D::File>> {
        let name = names::spare(self.next_number);
        self.next_number += 1;
        let created = self.disk.create(&name);
        let file = created.map_err(|e| Error::write("create", self.disk.place(&name), e))?;
        let filled = self.fill(&name, &file, size_bytes);
        if let Err(Error::NoSpace { .. }) = filled {
            // Give back what little it took; the error that matters is the one returned.
            let _ = self.disk.remove(&name);
        }
        filled.map(|()| Spare { name, file })
    }

    fn fill(&self, name: &str, file: &D::File, size_bytes: u64) -> Result<()> {
        let place = || self.disk.place(name);
        disk::fill_zeros(file, 0, size_bytes)
            .map_err(|e| Error::write("fill with zeros", place(), e))?;
        file.sync().map_err(|e| Error::fatal("sync", place(), e))
    }

    /// Retires a segment: into the stock, or off the disk. Synced at once, so that a later head
    /// written into the file can never turn up under the old name.
    pub fn retire(&mut self, segment: &str, size_bytes: u64) -> Result<()> {
        let place = || self.disk.place(segment);
        if size_bytes == self.size_bytes && self.ready.len() < READY_MAX {
            let name = names::spare(self.next_number);
            self.next_number += 1;
            let renamed = self.disk.rename(segment, &name);
            renamed.map_err(|e| Error::fatal("rename", place(), e))?;
            self.ready.push(name);
        } else {
            self.disk.remove(segment).map_err(|e| Error::fatal("remove", place(), e))?;
        }
        self.disk.sync_dir().map_err(|e| Error::fatal("sync", self.disk.place(""), e))
    }
}
