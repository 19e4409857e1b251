//! The record of the last contact with a leader. kantd writes it, and each supervisor reads it, so
//! that a node without a leader ends its jobs whether kantd runs or not.
//!
//! A leader that has no contact with a node starts the node's jobs elsewhere after a while. Before
//! that, the node ends those of its jobs that may be started elsewhere.
//!
//! The file contains the terms, which rarely change. Its time of modification is the contact, as an
//! uptime: to set it needs no room on the disk, and no reader sees half of it.

use super::boot;
use crate::clock;
use crate::spool;
use common::causes::with_causes;
use common::sync::Mutex;
use common::time::Span;
use common::wire::node::FenceTerms;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A contact is recorded again after this part of the time until the fence.
const RECORDS: u64 = 20;

/// kantd's side of the record.
#[derive(Debug, Clone)]
pub struct LeaderContact {
    path: PathBuf,
    recorded: Arc<Mutex<Recorded>>,
}

#[derive(Debug, Default)]
struct Recorded {
    last: Option<(Span, FenceTerms)>,
    has_failed: bool,
}

/// What the file says, but for its time.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Content {
    /// An uptime means nothing in another boot.
    boot: String,
    terms: FenceTerms,
}

/// What a supervisor reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contact {
    /// The uptime of the last contact.
    pub(super) at: Span,
    pub(super) terms: FenceTerms,
}

impl LeaderContact {
    /// The record in this spool.
    #[must_use]
    pub fn new(spool: &Path) -> Self {
        Self { path: Self::path(spool), recorded: Arc::default() }
    }

    /// The file of the record.
    #[must_use]
    pub fn path(spool: &Path) -> PathBuf {
        spool.join("leader-contact")
    }

    /// Records a contact at this uptime, unless the last record is almost as new.
    pub fn record(&self, at: Span, terms: &FenceTerms) {
        let mut recorded = self.recorded.lock();
        let same = recorded.last.filter(|(_, last)| last == terms);
        if same.is_some_and(|(last, _)| at.0 < last.0 + terms.after.0 / RECORDS) {
            return;
        }
        let written = match same {
            Some(_) => set_time(&self.path, at),
            None => write(&self.path, at, *terms),
        };
        match written {
            Ok(()) => *recorded = Recorded { last: Some((at, *terms)), has_failed: false },
            Err(error) => {
                recorded.last = None;
                if !std::mem::replace(&mut recorded.has_failed, true) {
                    let (path, error) = (self.path.display(), with_causes(&error));
                    tracing::error!(
                        "failed to record the contact with the leader in {path}: {error}; jobs \
                         that may be requeued will be ended"
                    );
                }
            }
        }
    }
}

/// Reads the record; `None` if there is none of this boot.
pub(super) fn read(path: &Path) -> Option<Contact> {
    let file = File::open(path).ok()?;
    let Content { boot, terms } = serde_json::from_reader(&file).ok()?;
    if boot != boot::boot_id().ok()? {
        return None;
    }
    let modified = file.metadata().ok()?.modified().ok()?;
    let at = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let at = Span(u64::try_from(at.as_millis()).ok()?);
    (at <= clock::uptime()).then_some(Contact { at, terms })
}

fn write(path: &Path, at: Span, terms: FenceTerms) -> io::Result<()> {
    let content = serde_json::to_string(&Content { boot: boot::boot_id()?, terms })?;
    // While it has the time of writing, which is no uptime, it counts as none.
    spool::write_durably(path, &content)?;
    set_time(path, at)
}

fn set_time(path: &Path, at: Span) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(at.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: FenceTerms =
        FenceTerms { after: Span(2000), kill_within: Span(10), ask_every: Span(5) };

    #[test]
    fn a_contact_is_read_as_it_was_recorded_and_not_every_one_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (path, contact) = (LeaderContact::path(dir.path()), LeaderContact::new(dir.path()));
        assert_eq!(read(&path), None);
        let at = |before: u64| Span(clock::uptime().0 - before);
        let first = at(500);
        contact.record(first, &TERMS);
        assert_eq!(read(&path), Some(Contact { at: first, terms: TERMS }));
        contact.record(first + Span(99), &TERMS);
        assert_eq!(read(&path).map(|contact| contact.at), Some(first), "almost as new");
        contact.record(first + Span(100), &TERMS);
        assert_eq!(read(&path).map(|contact| contact.at), Some(first + Span(100)));
        let off = FenceTerms { after: Span(0), ..TERMS };
        contact.record(first + Span(101), &off);
        assert_eq!(read(&path), Some(Contact { at: first + Span(101), terms: off }));
    }

    #[test]
    fn a_record_of_another_boot_or_from_the_future_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = LeaderContact::path(dir.path());
        write(&path, clock::uptime() + Span(60_000), TERMS).unwrap();
        assert_eq!(read(&path), None);
        let content = Content { boot: "another".to_owned(), terms: TERMS };
        std::fs::write(&path, serde_json::to_string(&content).unwrap()).unwrap();
        set_time(&path, clock::uptime()).unwrap();
        assert_eq!(read(&path), None);
    }
}
