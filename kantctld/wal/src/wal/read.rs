//! Reading of entries from memory or, where the payload was dropped, from disk.

use std::borrow::Cow;

use super::Wal;
use crate::disk::Disk;
use crate::entry::{Entry, EntryId, Index};
use crate::error::{Error, Result};
use crate::log_slot::{LogSlot, RecordLocation};
use crate::record::Item;

impl<D: Disk> Wal<D> {
    /// The entries from `low` up to but not including `high`: as many as have at most `bytes_max`
    /// of payload in total, but at least one.
    ///
    /// # Errors
    /// [`Error::Compacted`] and [`Error::Unavailable`] if the range leaves the log; errors of
    /// reading the disk.
    pub fn entries(&self, low: Index, high: Index, bytes_max: u64) -> Result<Vec<Cow<'_, Entry>>> {
        self.check_open()?;
        let mut cache = None;
        let kept = self.tail.entries(low, high, bytes_max)?;
        kept.into_iter().map(|kept| self.load_entry(kept, &mut cache)).collect()
    }

    /// The entry with its payload. `cache` caches the last record read, for the next entry.
    fn load_entry<'a>(
        &self,
        kept: &'a LogSlot,
        cache: &mut Option<CachedRecord>,
    ) -> Result<Cow<'a, Entry>> {
        let (entry_id, location) = match kept {
            LogSlot::InMemory { entry, .. } => return Ok(Cow::Borrowed(entry)),
            LogSlot::OnDisk { entry_id, location, .. } => (*entry_id, *location),
        };
        let items = match cache.take() {
            Some((at, items)) if at == location => items,
            _ => self.segments.read(location)?,
        };
        let (_, items) = cache.insert((location, items));
        take_entry(items, entry_id).map(Cow::Owned).ok_or_else(|| {
            let reason = format!("entry {} is not at its location", entry_id.index);
            Error::refused("read the log", reason)
        })
    }
}

/// A record that was read, with its location.
type CachedRecord = (RecordLocation, Vec<Item>);

/// The entry with this id among the items of a record.
fn take_entry(items: &mut [Item], entry_id: EntryId) -> Option<Entry> {
    items.iter_mut().find_map(|item| match item {
        Item::Entry(entry) if entry.index == entry_id.index && entry.term == entry_id.term => {
            let payload = std::mem::take(&mut entry.payload);
            Some(Entry { index: entry.index, term: entry.term, payload })
        }
        _ => None,
    })
}
