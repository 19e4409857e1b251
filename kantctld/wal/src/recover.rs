//! Recovery: reading and checking the directory at a start. It repairs only what a crash can
//! explain, a torn end of the last segment; any other inconsistency is refused with file and byte.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::disk::{self, Disk, DiskFile};
use crate::entry::{HardState, Index};
use crate::error::{Error, Result};
use crate::file_names::{self, Listing};
use crate::log_slot::RecordLocation;
use crate::options::Options;
use crate::record::{Item, Sequence};
use crate::segment::{self, FilePosition, Head, Scan, SegmentId};
use crate::segment_set::{Active, Sealed, SegmentSet, note_highest};
use crate::snapshot::Snapshot;
use crate::snapshot_files::SnapshotFiles;
use crate::spare_files::SpareFiles;
use crate::tail::Tail;

/// The content of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The last hard state; its commit index is at least the snapshot's. None in a new log.
    pub hard_state: Option<HardState>,
    /// The first entry in the log; `last_index` plus one if there is none.
    pub first_index: Index,
    /// The last entry in the log.
    pub last_index: Index,
    /// The state to start from; the entries follow it.
    pub snapshot: Option<Snapshot>,
    /// Where an interrupted write was removed, as after a power failure; harmless.
    pub torn: Option<FilePosition>,
    /// Why the newest snapshot could not be read, if the previous one was used instead: the disk
    /// may be failing.
    pub damaged_snapshot: Option<String>,
}

/// A recovered log.
pub(crate) struct Opened<D: Disk> {
    pub segments: SegmentSet<D>,
    pub snapshots: SnapshotFiles<D>,
    pub tail: Tail,
    pub recovered: Recovered,
}

/// Opens a directory whose lock is held. Everything is read and checked before the disk is changed.
pub(crate) fn recover<D: Disk>(disk: Arc<D>, options: Options) -> Result<Opened<D>> {
    let names = disk.list().map_err(|e| Error::disk_failed("list", disk.display_path(""), e))?;
    let listing = Listing::of(&names);
    check_listing(&listing, &disk.display_path(""))?;
    let mut tail = Tail::new(options.memory_bytes);
    let replayed = replay(&*disk, &listing.segments, &mut tail)?;
    tail.check_whole().map_err(|reason| incomplete_log(disk.display_path(""), reason))?;
    let mut snapshots = SnapshotFiles::new(disk.clone(), listing.snapshots);
    let (snapshot, damaged_snapshot) = choose_snapshot(&mut snapshots, &tail)?;
    let reset = match &snapshot {
        Some(snapshot) => reset_for_snapshot(&tail, snapshot, &snapshots)?,
        None => None,
    };

    // A killed process may have left names that are not durable. What is written from here on
    // builds on them, so they are synced first.
    disk.sync_dir().map_err(|e| Error::disk_failed("sync", disk.display_path(""), e))?;
    for tmp in listing.unfinished {
        disk.remove(tmp).map_err(|e| Error::write_failed("remove", disk.display_path(tmp), e))?;
    }
    let spares = SpareFiles::new(disk.clone(), options.segment_bytes, &listing.spares)?;
    let torn = replayed.as_ref().and_then(|replayed| replayed.torn.clone());
    let mut segments = match replayed {
        Some(replayed) => resume(disk, options, spares, replayed)?,
        None => create(disk, options, spares, &tail)?,
    };
    if let Some(reset) = reset {
        let location = segments.write(std::slice::from_ref(&reset), || tail.opening_items())?;
        segments.sync()?;
        tail.apply(reset, location).expect("a reset follows on anything");
    }
    if let Some(snapshot) = &snapshot {
        tail.raise_commit(snapshot.index);
    }
    segments.free(tail.base().index)?;
    let recovered = Recovered {
        hard_state: tail.hard_state().cloned(),
        first_index: tail.first_index(),
        last_index: tail.last_index(),
        snapshot,
        torn,
        damaged_snapshot,
    };
    Ok(Opened { segments, snapshots, tail, recovered })
}

/// A new log, with a spare segment. An existing log makes its spare when idle, so that a start does
/// not wait for it.
fn create<D: Disk>(
    disk: Arc<D>,
    options: Options,
    spares: SpareFiles<D>,
    tail: &Tail,
) -> Result<SegmentSet<D>> {
    let mut segments = SegmentSet::create(disk, options, spares, &tail.opening_items())?;
    match segments.spares.prepare() {
        // On a full disk the log is still usable: entries fit into the existing segment.
        Err(Error::NoSpace { .. }) => {}
        prepared => prepared?,
    }
    Ok(segments)
}

fn incomplete_log(file: String, reason: impl Into<String>) -> Error {
    Error::Incomplete { file, reason: reason.into() }
}

/// Checks the names: segments are created and retired one at a time in order, so a gap is damage.
fn check_listing(listing: &Listing, place: &str) -> Result<()> {
    for pair in listing.segments.windows(2) {
        let expected = pair[0].next();
        if pair[1] != expected {
            let reason = format!("{} is missing", file_names::segment(expected));
            return Err(incomplete_log(place.to_string(), reason));
        }
    }
    if listing.segments.is_empty() && !listing.snapshots.is_empty() {
        return Err(incomplete_log(place.to_string(), "there are snapshots but no log segments"));
    }
    Ok(())
}

/// A segment as read.
struct Read<F> {
    head: Head,
    file: F,
    name: String,
    bytes: Vec<u8>,
    scan: Scan,
}

fn read_segment<D: Disk>(disk: &D, id: SegmentId) -> Result<Read<D::File>> {
    let name = disk.display_path(&file_names::segment(id));
    let fatal = |source| Error::disk_failed("read", name.clone(), source);
    let file = disk.open(&file_names::segment(id)).map_err(fatal)?;
    let bytes = disk::read_all(&file).map_err(fatal)?;
    let head = Head::decode(&bytes, id, &name)?;
    let scan = segment::scan(&bytes, &head, &name)?;
    Ok(Read { head, file, name, bytes, scan })
}

/// All segments as read.
struct Replayed<F> {
    sealed: VecDeque<Sealed>,
    last: Read<F>,
    /// The highest entry in the last segment.
    highest: Index,
    torn: Option<FilePosition>,
}

/// Reads all segments and applies their records in order. None for a directory without segments.
fn replay<D: Disk>(
    disk: &D,
    ids: &[SegmentId],
    tail: &mut Tail,
) -> Result<Option<Replayed<D::File>>> {
    let mut sealed: VecDeque<Sealed> = VecDeque::new();
    let mut before: Option<Read<D::File>> = None;
    let mut highest = Index(0);
    for &id in ids {
        let mut segment = read_segment(disk, id)?;
        if let Some(full) = before {
            check_continuous(&full, segment.head.first)?;
            let Head { id, size_bytes, .. } = full.head;
            sealed.push_back(Sealed { id, size_bytes, highest, seed: full.head.seed() });
            highest = Index(0);
        }
        for (run, items) in std::mem::take(&mut segment.scan.records) {
            let location = RecordLocation {
                segment: id,
                offset: run.start,
                record_bytes: run.end - run.start,
            };
            for item in items {
                note_highest(&item, &mut highest, &mut sealed);
                let applied = tail.apply(item, location);
                applied.map_err(|reason| incomplete_log(segment.name.clone(), reason))?;
            }
        }
        before = Some(segment);
    }
    let Some(last) = before else { return Ok(None) };
    let torn = check_end(&last)?;
    Ok(Some(Replayed { sealed, last, highest, torn }))
}

/// Continues writing at the end of the last segment.
fn resume<D: Disk>(
    disk: Arc<D>,
    options: Options,
    spares: SpareFiles<D>,
    replayed: Replayed<D::File>,
) -> Result<SegmentSet<D>> {
    let Replayed { sealed, last, highest, .. } = replayed;
    rewrite_end(&last)?;
    let Read { head, file, scan, .. } = last;
    let written = Sequence(scan.next.0 - 1);
    let active = Active { head, seed: head.seed(), file, end: scan.end, highest };
    Ok(SegmentSet { disk, options, sealed, active, spares, written, durable: written })
}

/// Checks that a segment reaches up to the next one: it was synced before the next one was created.
fn check_continuous<F>(full: &Read<F>, next: Sequence) -> Result<()> {
    if full.scan.next == next {
        return Ok(());
    }
    let reason = if full.scan.next < next {
        "a record is damaged, and a later segment proves that it was complete"
    } else {
        "the segment has records that the next segment has too"
    };
    Err(FilePosition { file: full.name.clone(), offset: full.scan.end }.corrupt(reason))
}

/// The last segment may end in a torn write, but not within synced records. Returns where a write
/// was torn.
fn check_end<F>(last: &Read<F>) -> Result<Option<FilePosition>> {
    let place = FilePosition { file: last.name.clone(), offset: last.scan.end };
    if last.scan.next == last.head.first {
        return Err(place.corrupt("the first record of the segment is damaged"));
    }
    if let Some(at) = segment::later_proof_of_sync(&last.bytes, &last.head, &last.scan) {
        let reason =
            format!("a record is damaged, and a later one at byte {at} proves it complete");
        return Err(place.corrupt(reason));
    }
    Ok(segment::is_torn(&last.bytes, &last.scan).then_some(place))
}

/// Rewrites the last segment up to its end, and syncs it. Remains of torn writes must not join with
/// new records, and what the last process wrote without a successful sync may be only in the page
/// cache, where it looks the same as on disk.
fn rewrite_end<F: DiskFile>(last: &Read<F>) -> Result<()> {
    let end = last.scan.end;
    let whole = &last.bytes[..end as usize];
    let written = last.file.write_at(0, whole);
    written
        .and_then(|()| disk::fill_zeros(&last.file, end, last.head.size_bytes - end))
        .map_err(|e| Error::write_failed("write", last.name.clone(), e))?;
    last.file.sync().map_err(|e| Error::disk_failed("sync", last.name.clone(), e))
}

/// The newest valid snapshot that the log follows, and why a newer one was not used.
fn choose_snapshot<D: Disk>(
    snapshots: &mut SnapshotFiles<D>,
    tail: &Tail,
) -> Result<(Option<Snapshot>, Option<String>)> {
    let base = tail.base().index;
    let mut damage: Option<Error> = None;
    for index in snapshots.candidates() {
        if index < base {
            break;
        }
        match snapshots.load(index) {
            Ok(snapshot) => {
                snapshots.set_chosen(snapshot.entry_id());
                return Ok((Some(snapshot), damage.map(|error| error.to_string())));
            }
            Err(error @ (Error::Corrupt { .. } | Error::Io { .. })) => {
                damage.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    match damage {
        Some(error) => Err(error),
        None if base == Index(0) => Ok((None, None)),
        None => {
            let reason = format!("the log begins after {base}, and no snapshot reaches that far");
            Err(incomplete_log(snapshots.display_path(base), reason))
        }
    }
}

/// The record that makes the log follow the snapshot. None if the log has the snapshot's entry;
/// otherwise the snapshot came from the leader, and a crash prevented the restart of the log.
fn reset_for_snapshot<D: Disk>(
    tail: &Tail,
    snapshot: &Snapshot,
    snapshots: &SnapshotFiles<D>,
) -> Result<Option<Item>> {
    let position = snapshot.entry_id();
    if tail.term(position.index).ok() == Some(position.term) {
        return Ok(None);
    }
    if position.index <= tail.committed() {
        let reason = "the log has another term committed at the snapshot's index";
        return Err(incomplete_log(snapshots.display_path(position.index), reason));
    }
    Ok(Some(Item::Reset(position)))
}

#[cfg(test)]
mod tests;
