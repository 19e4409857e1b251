//! Files ready to become segments: filled with zeros ahead of time, or retired segments. Their
//! content does not matter until one is used.

use std::sync::Arc;

use crate::disk::{self, Disk, DiskFile};
use crate::error::{Error, Result};
use crate::file_names;

/// The most spare files kept.
const READY_MAX: usize = 2;

/// The size of one filling step, which bounds how long a sync waits for it.
const STEP_BYTES: u64 = 1 << 20;

pub(crate) struct SpareFiles<D: Disk> {
    disk: Arc<D>,
    /// The size of all spare files.
    size_bytes: u64,
    ready: Vec<String>,
    /// From an earlier run. After a failed sync their content may be only in the page cache, so
    /// they are filled again before use.
    stale: Vec<String>,
    filling: Option<Filling<D::File>>,
    next_number: u64,
}

/// A file being filled with zeros.
struct Filling<F> {
    name: String,
    file: F,
    filled_bytes: u64,
}

/// A file taken for use, still under its spare name.
pub(crate) struct Spare<F> {
    pub name: String,
    pub file: F,
}

impl<D: Disk> SpareFiles<D> {
    /// Adopts the spare files of an earlier run unchanged, so that a start does not wait for
    /// filling.
    pub fn new(disk: Arc<D>, size_bytes: u64, numbers: &[u64]) -> Result<Self> {
        let next_number = numbers.last().map_or(1, |last| last.saturating_add(1));
        let names = numbers.iter().map(|&number| file_names::spare(number));
        let mut stale: Vec<String> = names.collect();
        let superfluous = stale.split_off(stale.len().min(READY_MAX));
        let (ready, filling) = (Vec::new(), None);
        let spares = SpareFiles { disk, size_bytes, ready, stale, filling, next_number };
        superfluous.iter().try_for_each(|name| spares.remove(name))?;
        Ok(spares)
    }

    fn remove(&self, name: &str) -> Result<()> {
        let removed = self.disk.remove(name);
        removed
            .map_err(|source| Error::write_failed("remove", self.disk.display_path(name), source))
    }

    /// A file of this size: a spare one if it fits, otherwise a new one.
    pub fn take(&mut self, size_bytes: u64) -> Result<Spare<D::File>> {
        if size_bytes != self.size_bytes {
            let mut made = self.create()?;
            self.fill(&mut made, size_bytes)?;
            return Ok(Spare { name: made.name, file: made.file });
        }
        self.prepare_up_to(size_bytes)?;
        let name = self.ready.pop().expect("one was made ready");
        let opened = self.disk.open(&name);
        let file = opened
            .map_err(|source| Error::disk_failed("open", self.disk.display_path(&name), source))?;
        Ok(Spare { name, file })
    }

    /// Returns a file that could not be used.
    pub fn put_back(&mut self, name: String, size_bytes: u64) {
        if size_bytes == self.size_bytes {
            self.ready.push(name);
        } else {
            // Useless, but not worth an error: the next start removes it.
            let _ = self.disk.remove(&name);
        }
    }

    /// Makes progress towards one spare file, if none is ready.
    pub fn prepare(&mut self) -> Result<()> {
        self.prepare_up_to(STEP_BYTES)
    }

    fn prepare_up_to(&mut self, step_bytes: u64) -> Result<()> {
        while self.ready.is_empty() {
            let mut filling = match self.filling.take() {
                Some(filling) => filling,
                None => self.reuse_stale()?.map_or_else(|| self.create(), Ok)?,
            };
            let end = filling.filled_bytes.saturating_add(step_bytes).min(self.size_bytes);
            self.fill(&mut filling, end)?;
            if end < self.size_bytes {
                self.filling = Some(filling);
                break;
            }
            self.ready.push(filling.name);
        }
        Ok(())
    }

    /// The next file of an earlier run; files of another size are removed.
    fn reuse_stale(&mut self) -> Result<Option<Filling<D::File>>> {
        while let Some(name) = self.stale.pop() {
            let place = || self.disk.display_path(&name);
            let file = self.disk.open(&name).map_err(|e| Error::disk_failed("open", place(), e))?;
            let length = file.len_bytes().map_err(|e| Error::disk_failed("read", place(), e))?;
            if length == self.size_bytes {
                return Ok(Some(Filling { name, file, filled_bytes: 0 }));
            }
            self.remove(&name)?;
        }
        Ok(None)
    }

    fn create(&mut self) -> Result<Filling<D::File>> {
        let name = file_names::spare(self.next_number);
        self.next_number += 1;
        let created = self.disk.create(&name);
        let file =
            created.map_err(|e| Error::write_failed("create", self.disk.display_path(&name), e))?;
        Ok(Filling { name, file, filled_bytes: 0 })
    }

    /// Fills the file up to `end`, durably. If there is no space, the file is removed.
    fn fill(&self, filling: &mut Filling<D::File>, end: u64) -> Result<()> {
        let Filling { name, file, filled_bytes } = filling;
        let place = || self.disk.display_path(name);
        let filled = disk::fill_zeros(file, *filled_bytes, end - *filled_bytes);
        let filled = filled.map_err(|e| Error::write_failed("fill with zeros", place(), e));
        if let Err(Error::NoSpace { .. }) = filled {
            // Free its space; the error that matters is the one returned.
            let _ = self.disk.remove(name);
        }
        filled?;
        *filled_bytes = end;
        file.sync().map_err(|e| Error::disk_failed("sync", place(), e))
    }

    /// Retires a segment: makes it a spare file, or removes it. Synced at once, so that a head
    /// written into the file later cannot appear under the old name.
    pub fn retire(&mut self, segment: &str, size_bytes: u64) -> Result<()> {
        let place = || self.disk.display_path(segment);
        let kept = self.ready.len() + self.stale.len() + usize::from(self.filling.is_some());
        if size_bytes == self.size_bytes && kept < READY_MAX {
            let name = file_names::spare(self.next_number);
            self.next_number += 1;
            let renamed = self.disk.rename(segment, &name);
            renamed.map_err(|e| Error::disk_failed("rename", place(), e))?;
            self.ready.push(name);
        } else {
            self.disk.remove(segment).map_err(|e| Error::disk_failed("remove", place(), e))?;
        }
        self.disk.sync_dir().map_err(|e| Error::disk_failed("sync", self.disk.display_path(""), e))
    }
}

#[cfg(test)]
mod tests;
