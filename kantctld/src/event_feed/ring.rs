//! The buffer of lines for `watch` requests: one ring for all readers, bounded in bytes, with a
//! position for each reader. A reader that falls too far behind misses lines, and is ended if it
//! stays behind.

use super::Wanted;
use super::audience::{JobOwnership, Subject};
use common::id::JobKey;
use common::sync::Mutex;
use common::wire::api::EventSequence;
use net::limiter::Permit;
use query::viewer::Viewer;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The capacity: more than one command can cause for one user's jobs, because the events of a
/// command come at once.
const BYTES_MAX: usize = 64 << 20;
/// The size of an entry without its text.
const ENTRY_BYTES: usize = size_of::<Entry>();
/// A reader that missed lines and takes none for this long is ended.
const BEHIND_MAX: Duration = Duration::from_secs(60);
/// The size of a read; at least one line.
const READ_BYTES: usize = 64 << 10;

/// A line, and what it is about.
pub struct Entry {
    pub sequence: EventSequence,
    pub job: Option<JobKey>,
    pub subject: Subject,
    pub line: Box<[u8]>,
    pub general: Option<General>,
}

/// The line for readers who do not see all jobs, if an event names another job or says what one
/// did.
pub struct General {
    pub line: Box<[u8]>,
    /// The other job: readers who see it get the whole line.
    pub other: Option<Arc<JobOwnership>>,
}

impl Entry {
    const fn bytes(&self) -> usize {
        let general = match &self.general {
            Some(general) => general.line.len(),
            None => 0,
        };
        ENTRY_BYTES + self.line.len() + general
    }

    /// The line for this reader.
    pub fn line_for(&self, viewer: &Viewer) -> &[u8] {
        let (Some(general), Some(limits)) = (&self.general, viewer.jobs_limits()) else {
            return &self.line;
        };
        match &general.other {
            Some(other) if other.is_seen(limits) => &self.line,
            _ => &general.line,
        }
    }
}

struct Reader {
    /// Counts the reader until it is removed.
    _permit: Permit,
    wanted: Arc<Wanted>,
    /// It got this event and those before it in another way.
    after: EventSequence,
    /// The position of the next line to check.
    at: u64,
    /// The number of lines that it wants, and of those among them that it got or missed.
    came: u64,
    done: u64,
    /// Since when it misses lines and has not read.
    behind_since: Option<Instant>,
}

impl Reader {
    fn wants(&self, entry: &Entry) -> bool {
        entry.sequence > self.after && self.wanted.matches(entry.job, &entry.subject)
    }
}

#[derive(Default)]
struct Content {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// The position of the first entry.
    first: u64,
    readers: BTreeMap<u64, Reader>,
    last_id: u64,
    /// The last event of which all readers that want it have the line.
    published: EventSequence,
}

/// The lines and their readers.
pub struct Ring {
    content: Mutex<Content>,
    bytes_max: usize,
    /// The position after the last line.
    end: watch::Sender<u64>,
}

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    Lines(Vec<u8>),
    /// The number of lines dropped.
    Missed(u64),
    /// The reader has all lines up to this event.
    Nothing(EventSequence),
    Ended,
}

/// A registered reader; removed when dropped.
pub struct Reading {
    ring: Arc<Ring>,
    id: u64,
    pub end: watch::Receiver<u64>,
}

impl Default for Ring {
    fn default() -> Self {
        Self::with_capacity(BYTES_MAX)
    }
}

impl Ring {
    pub fn with_capacity(bytes_max: usize) -> Self {
        let (content, end) = (Mutex::default(), watch::channel(0).0);
        Self { content, bytes_max, end }
    }

    /// Registers a reader of lines after an event.
    pub fn add_reader(
        self: &Arc<Self>,
        permit: Permit,
        wanted: Arc<Wanted>,
        after: EventSequence,
    ) -> Reading {
        let mut content = self.content.lock();
        let at = content.end();
        content.last_id += 1;
        let id = content.last_id;
        let (came, done, behind_since) = (0, 0, None);
        let reader = Reader { _permit: permit, wanted, after, at, came, done, behind_since };
        content.readers.insert(id, reader);
        Reading { ring: self.clone(), id, end: self.end.subscribe() }
    }

    /// What the readers want.
    pub fn reader_filters(&self) -> Vec<Arc<Wanted>> {
        self.content.lock().readers.values().map(|reader| reader.wanted.clone()).collect()
    }

    /// Appends the lines of all events up to one, and ends readers that have been behind for too
    /// long.
    pub fn add(&self, entries: Vec<Entry>, published: EventSequence, now: Instant) {
        let mut content = self.content.lock();
        content.published = published;
        for entry in entries {
            content.add(entry);
        }
        content.trim(self.bytes_max, now);
        let end = content.end();
        drop(content);
        self.end.send_replace(end);
    }
}

impl Content {
    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    fn add(&mut self, entry: Entry) {
        for reader in self.readers.values_mut() {
            reader.came += u64::from(reader.wants(&entry));
        }
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
    }

    fn trim(&mut self, bytes_max: usize, now: Instant) {
        let is_lost = |reader: &Reader| {
            reader.behind_since.is_some_and(|since| now.duration_since(since) >= BEHIND_MAX)
        };
        self.readers.retain(|_, reader| !is_lost(reader));
        let end = self.end();
        let read = self.readers.values().map(|reader| reader.at).min().unwrap_or(end);
        while self.first < read || self.bytes > bytes_max {
            let Some(entry) = self.entries.pop_front() else { break };
            self.bytes -= entry.bytes();
            self.first += 1;
        }
        for reader in self.readers.values_mut().filter(|reader| reader.at < self.first) {
            reader.behind_since.get_or_insert(now);
        }
    }

    fn take(&mut self, id: u64) -> Taken {
        let Some(reader) = self.readers.get_mut(&id) else { return Taken::Ended };
        reader.behind_since = None;
        if reader.at < self.first {
            reader.at = self.first;
            let left = self.entries.iter().filter(|entry| reader.wants(entry)).count() as u64;
            let missed = reader.came - reader.done - left;
            reader.done += missed;
            if missed > 0 {
                return Taken::Missed(missed);
            }
        }
        let mut lines = Vec::new();
        let skipped = usize::try_from(reader.at - self.first).unwrap_or(usize::MAX);
        for entry in self.entries.iter().skip(skipped) {
            if lines.len() >= READ_BYTES {
                break;
            }
            reader.at += 1;
            if reader.wants(entry) {
                reader.done += 1;
                lines.extend_from_slice(entry.line_for(&reader.wanted.viewer));
            }
        }
        match lines.is_empty() {
            true => Taken::Nothing(self.published.max(reader.after)),
            false => Taken::Lines(lines),
        }
    }
}

impl Reading {
    pub fn take(&self) -> Taken {
        self.ring.content.lock().take(self.id)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.ring.content.lock().readers.remove(&self.id);
    }
}

#[cfg(test)]
mod tests;
