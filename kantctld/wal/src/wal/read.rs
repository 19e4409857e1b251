//! Reading entries: from memory, or from the disk where memory let go of them. Never changes
//! anything.

use std::borrow::Cow;

use super::Wal;
use crate::disk::Disk;
use crate::entry::{Entry, Index, Position};
use crate::error::{Error, Result};
use crate::kept::{Home, Kept};
use crate::record::Item;

impl<D: Disk> Wal<D> {
    /// The entries from `low` up to but not with `high`: as many as have at most `bytes_max` of
    /// payload together, at least one.
    ///
    /// # Errors
    /// [`Error::Compacted`] and [`Error::Unavailable`] when the range leaves the log; those of
    /// reading the disk for entries that memory no longer holds.
    pub fn entries(&self, low: Index, high: Index, bytes_max: u64) -> Result<Vec<Cow<'_, Entry>>> {
        self.check_open()?;
        let mut shelf = None;
        let kept = self.tail.entries(low, high, bytes_max)?;
        kept.into_iter().map(|kept| self.whole(kept, &mut shelf)).collect()
    }

    /// The entry with its payload; what was read for one is on the shelf for the next.
    fn whole<'a>(&self, kept: &'a Kept, shelf: &mut Option<Shelf>) -> Result<Cow<'a, Entry>> {
        let (position, home) = match kept {
            Kept::Warm { entry, .. } => return Ok(Cow::Borrowed(entry)),
            Kept::Cold { position, home, .. } => (*position, *home),
        };
        let items = match shelf.take() {
            Some((at, items)) if at == home => items,
            _ => self.segments.read(home)?,
        };
        let (_, items) = shelf.insert((home, items));
        taken(items, position).map(Cow::Owned).ok_or_else(|| {
            let reason = format!("entry {} is not where it was", position.index);
            Error::refused("read the log", reason)
        })
    }
}

/// A record that was read, and where it stands.
type Shelf = (Home, Vec<Item>);

/// The entry of this place among what a record says.
fn taken(items: &mut [Item], position: Position) -> Option<Entry> {
    items.iter_mut().find_map(|item| match item {
        Item::Entry(entry) if entry.index == position.index && entry.term == position.term => {
            let payload = std::mem::take(&mut entry.payload);
            Some(Entry { index: entry.index, term: entry.term, payload })
        }
        _ => None,
    })
}
