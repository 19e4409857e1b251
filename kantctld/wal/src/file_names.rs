//! The file names in a log directory and their kinds.

use crate::entry::Index;
use crate::segment::SegmentId;

/// Held while a controller has the directory open.
pub(crate) const LOCK: &str = "lock";
/// A snapshot being written; useless after a crash.
pub(crate) const SNAPSHOT_TMP: &str = "snapshot.tmp";
/// The same for a snapshot written by another thread.
pub(crate) const WRITER_TMP: &str = "aside.tmp";

pub(crate) fn segment(id: SegmentId) -> String {
    format!("log-{:020}", id.0)
}

pub(crate) fn spare(number: u64) -> String {
    format!("spare-{number:020}")
}

pub(crate) fn snapshot(index: Index) -> String {
    format!("snapshot-{:020}", index.0)
}

/// The content of a directory, sorted by kind and number. Other names are ignored.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub segments: Vec<SegmentId>,
    pub spares: Vec<u64>,
    pub snapshots: Vec<Index>,
    /// The temporary names of snapshots found.
    pub unfinished: Vec<&'static str>,
}

impl Listing {
    pub fn of(names: &[String]) -> Listing {
        let mut listing = Listing::default();
        for name in names {
            if let Some(number) = number_after("log-", name) {
                listing.segments.push(SegmentId(number));
            } else if let Some(number) = number_after("spare-", name) {
                listing.spares.push(number);
            } else if let Some(number) = number_after("snapshot-", name) {
                listing.snapshots.push(Index(number));
            } else if let Some(tmp) = [SNAPSHOT_TMP, WRITER_TMP].into_iter().find(|tmp| name == tmp)
            {
                listing.unfinished.push(tmp);
            }
        }
        listing.segments.sort_unstable();
        listing.spares.sort_unstable();
        listing.snapshots.sort_unstable();
        listing
    }
}

/// The number in a name. It must have exactly twenty digits, so that a copy like `log-7~` does not
/// match.
fn number_after(prefix: &str, name: &str) -> Option<u64> {
    let digits = name.strip_prefix(prefix)?;
    let is_ours = digits.len() == 20 && digits.bytes().all(|b| b.is_ascii_digit());
    if is_ours { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_in_order_and_others_are_ignored() {
        let names = [
            segment(SegmentId(10)),
            segment(SegmentId(9)),
            spare(3),
            snapshot(Index(77)),
            SNAPSHOT_TMP.to_string(),
            WRITER_TMP.to_string(),
            LOCK.to_string(),
            "log-7".to_string(),
            "log-00000000000000000001.bak".to_string(),
            "lost+found".to_string(),
        ];
        let listing = Listing::of(&names);
        assert_eq!(listing.segments, [SegmentId(9), SegmentId(10)]);
        assert_eq!(listing.spares, [3]);
        assert_eq!(listing.snapshots, [Index(77)]);
        assert_eq!(listing.unfinished, [SNAPSHOT_TMP, WRITER_TMP]);
    }
}
