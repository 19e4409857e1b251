//! The buffer of lines for `watch` requests: one ring for all readers, bounded in bytes, with a
//! position for each reader. A reader that falls too far behind misses lines, and is ended if it
//! stays behind.

use super::Wanted;
use common::id::JobKey;
use common::sync::Mutex;
use net::limiter::Permit;
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

/// A line, and the job and user that it is about.
pub struct Entry {
    pub job: Option<JobKey>,
    pub user: Option<Arc<str>>,
    pub line: Box<[u8]>,
}

impl Entry {
    const fn bytes(&self) -> usize {
        ENTRY_BYTES + self.line.len()
    }
}

struct Reader {
    /// Counts the reader until it is removed.
    _permit: Permit,
    wanted: Arc<Wanted>,
    /// The position of the next line to check.
    at: u64,
    /// The number of lines that it wants, and of those among them that it got or missed.
    came: u64,
    done: u64,
    /// Since when it misses lines and has not read.
    behind_since: Option<Instant>,
}

#[derive(Default)]
struct Content {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// The position of the first entry.
    first: u64,
    readers: BTreeMap<u64, Reader>,
    last_id: u64,
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
    Nothing,
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

    /// Registers a reader.
    pub fn open(self: &Arc<Self>, permit: Permit, wanted: Wanted) -> Reading {
        let mut content = self.content.lock();
        let (at, wanted) = (content.end(), Arc::new(wanted));
        content.last_id += 1;
        let id = content.last_id;
        let reader = Reader { _permit: permit, wanted, at, came: 0, done: 0, behind_since: None };
        content.readers.insert(id, reader);
        Reading { ring: self.clone(), id, end: self.end.subscribe() }
    }

    /// What the readers want.
    pub fn wanted(&self) -> Vec<Arc<Wanted>> {
        self.content.lock().readers.values().map(|reader| reader.wanted.clone()).collect()
    }

    /// Appends lines and ends readers that have been behind for too long.
    pub fn add(&self, entries: Vec<Entry>, now: Instant) {
        let mut content = self.content.lock();
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
            reader.came += u64::from(reader.wanted.matches(entry.job, entry.user.as_deref()));
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
        let takes = |reader: &Reader, entry: &Entry| {
            reader.wanted.matches(entry.job, entry.user.as_deref())
        };
        if reader.at < self.first {
            reader.at = self.first;
            let left = self.entries.iter().filter(|entry| takes(reader, entry)).count() as u64;
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
            if takes(reader, entry) {
                reader.done += 1;
                lines.extend_from_slice(&entry.line);
            }
        }
        if lines.is_empty() { Taken::Nothing } else { Taken::Lines(lines) }
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
mod tests {
    use super::*;
    use crate::admission_limits::AdmissionLimits;
    use common::id::JobId;

    fn entry(job: u32, user: &str) -> Entry {
        let line = format!("{job:0>99}\n").into_bytes().into();
        Entry { job: Some(JobKey::single(JobId(job))), user: Some(user.into()), line }
    }

    fn permit(uid: u32) -> Permit {
        AdmissionLimits::default().watches.take(uid).unwrap()
    }

    fn of_user(user: &str) -> Wanted {
        Wanted { users: [user.to_owned()].into(), ..Wanted::default() }
    }

    #[test]
    fn slow_readers_share_one_ring_and_learn_how_much_they_missed() {
        let (ring, now) = (Arc::new(Ring::with_capacity(100 << 10)), Instant::now());
        let all: Vec<Reading> =
            (0..40).map(|reader| ring.open(permit(reader / 8), Wanted::default())).collect();
        let of_bob = ring.open(permit(99), of_user("bob"));
        for job in 0..100_000 {
            let user = if job % 1000 == 999 { "bob" } else { "ada" };
            ring.add(vec![entry(job, user)], now);
        }
        let bytes: usize = ring.content.lock().entries.iter().map(Entry::bytes).sum();
        assert_eq!(bytes, ring.content.lock().bytes);
        assert!(bytes <= 100 << 10, "{bytes} bytes for 41 readers");
        let left = ring.content.lock().entries.len() as u64;
        for reading in &all {
            assert_eq!(reading.take(), Taken::Missed(100_000 - left));
            let Taken::Lines(lines) = reading.take() else { panic!("no lines") };
            assert!(lines.starts_with(format!("{:0>99}", 100_000 - left).as_bytes()));
        }
        assert_eq!(of_bob.take(), Taken::Missed(99));
        assert!(matches!(of_bob.take(), Taken::Lines(_)), "the last line is still there");
        assert_eq!(of_bob.take(), Taken::Nothing);
        drop((all, of_bob));
        ring.add(vec![entry(1, "ada")], now);
        assert_eq!(ring.content.lock().bytes, 0, "lines without a reader are not kept");
    }

    #[test]
    fn a_user_has_at_most_eight_readers() {
        let (ring, admission) = (Arc::new(Ring::default()), AdmissionLimits::default());
        let open = |uid| Some(ring.open(admission.watches.take(uid).ok()?, of_user("ada")));
        let mut of_one: Vec<Reading> = std::iter::from_fn(|| open(1)).collect();
        assert_eq!(of_one.len(), 8);
        assert!(open(2).is_some());
        of_one.pop();
        of_one.extend(open(1));
        assert!(of_one.len() == 8 && open(1).is_none());
        // One that is ended for not reading counts no longer, though its client still holds it.
        let (now, late) = (Instant::now(), Instant::now() + 2 * BEHIND_MAX);
        ring.content.lock().readers.values_mut().for_each(|one| one.behind_since = Some(now));
        ring.add(Vec::new(), late);
        assert!(open(1).is_some());
    }

    #[test]
    fn a_reader_that_misses_lines_and_does_not_read_for_a_minute_is_ended() {
        let (ring, now) = (Arc::new(Ring::with_capacity(1 << 10)), Instant::now());
        let open = || ring.open(permit(1), of_user("ada"));
        let (full, reads) = (open(), open());
        let add = |job: u32, at: Instant| ring.add(vec![entry(job, "ada")], at);
        (0..100).for_each(|job| add(job, now));
        assert!(matches!(reads.take(), Taken::Missed(_)));
        assert!(matches!(reads.take(), Taken::Lines(_)));
        add(100, now + BEHIND_MAX / 2);
        assert!(matches!(reads.take(), Taken::Lines(_)));
        add(101, now + BEHIND_MAX);
        assert_eq!(full.take(), Taken::Ended);
        assert!(matches!(reads.take(), Taken::Lines(_)), "the one that reads stays");
        add(102, now + 10 * BEHIND_MAX);
        assert!(matches!(reads.take(), Taken::Lines(_)), "a reader without a backlog stays");
    }
}
