//! What a client's connection and the requests on it know of each other: whether the client must
//! act, until when, and how the current request is framed.

use crate::clock;
use crate::config::ClientLimits;
use crate::head_scan::{Framing, HeadScan};
use common::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The time after which an idle connection gives up its buffers.
pub const PARK_AFTER: Duration = Duration::from_secs(1);

/// Nothing of the next request has arrived.
const IDLE: u8 = 0;
/// A part of the next request's header has arrived.
const HEAD: u8 = 1;

/// The state of one connection. All its users are on one thread.
#[derive(Debug)]
pub struct ClientWatch {
    limits: ClientLimits,
    is_http2: AtomicBool,
    /// Requests that have no complete answer.
    active: AtomicU32,
    phase: AtomicU8,
    /// The begin of the phase. It counts while `active` is zero.
    since_nanoseconds: AtomicU64,
    /// The connection has been idle for long enough to give up its buffers.
    may_park: AtomicBool,
    scan: Mutex<HeadScan>,
}

/// When something must happen on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The connection ends.
    pub end: Instant,
    /// Its buffers are given up.
    pub park: Option<Instant>,
}

impl ClientWatch {
    pub fn new(limits: ClientLimits) -> Self {
        Self {
            limits,
            is_http2: AtomicBool::new(false),
            active: AtomicU32::new(0),
            phase: AtomicU8::new(IDLE),
            since_nanoseconds: AtomicU64::new(clock::nanoseconds(Instant::now())),
            may_park: AtomicBool::new(false),
            scan: Mutex::default(),
        }
    }

    pub const fn limits(&self) -> &ClientLimits {
        &self.limits
    }

    /// The bytes are not lines of text: only the time between requests is limited.
    pub fn set_http2(&self) {
        self.is_http2.store(true, Relaxed);
        self.phase.store(IDLE, Relaxed);
    }

    pub fn is_http2(&self) -> bool {
        self.is_http2.load(Relaxed)
    }

    /// Bytes have arrived.
    pub fn note_read(&self, bytes: &[u8]) {
        if self.is_http2() || self.active.load(Relaxed) > 0 {
            return;
        }
        if self.phase.swap(HEAD, Relaxed) == IDLE {
            self.set_since(Instant::now());
        }
        self.scan.lock().scan(bytes);
    }

    /// A request's header is complete. Returns what was seen of its framing.
    pub fn begin_request(&self) -> Framing {
        self.active.fetch_add(1, Relaxed);
        if self.is_http2() {
            return Framing::default();
        }
        self.phase.store(IDLE, Relaxed);
        std::mem::take(&mut *self.scan.lock()).framing()
    }

    /// A request's answer is complete, or will never be.
    pub fn end_request(&self, now: Instant) {
        if self.active.fetch_sub(1, Relaxed) == 1 {
            self.set_since(now);
        }
    }

    /// When the client must have acted; `None` while requests are in progress.
    pub fn due(&self) -> Option<Due> {
        if self.active.load(Relaxed) > 0 {
            return None;
        }
        let since = clock::instant(self.since_nanoseconds.load(Relaxed));
        let is_idle = self.phase.load(Relaxed) == IDLE;
        let end = since + if is_idle { self.limits.idle } else { self.limits.head };
        let may_park = is_idle && !self.is_http2() && !self.may_park.load(Relaxed);
        Some(Due { end, park: may_park.then(|| since + PARK_AFTER) })
    }

    /// The connection has been idle for a while.
    pub fn set_may_park(&self) {
        self.may_park.store(true, Relaxed);
    }

    /// May the connection give up its buffers now?
    pub fn take_may_park(&self) -> bool {
        let may_park = self.may_park.load(Relaxed) && self.may_park.swap(false, Relaxed);
        may_park && self.active.load(Relaxed) == 0 && self.phase.load(Relaxed) == IDLE
    }

    fn set_since(&self, at: Instant) {
        self.since_nanoseconds.store(clock::nanoseconds(at), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> ClientWatch {
        ClientWatch::new(ClientLimits::default())
    }

    fn left(watch: &ClientWatch) -> Option<u64> {
        let left = watch.due()?.end.saturating_duration_since(Instant::now());
        Some(left.as_secs_f64().round() as u64)
    }

    #[test]
    fn an_idle_client_has_longer_than_one_that_has_begun_a_header() {
        let watch = watch();
        assert_eq!(left(&watch), Some(75));
        watch.note_read(b"GE");
        assert_eq!(left(&watch), Some(10));
        watch.begin_request();
        assert_eq!(left(&watch), None);
        watch.end_request(Instant::now());
        assert_eq!(left(&watch), Some(75));
    }

    #[test]
    fn further_bytes_of_a_header_win_no_time() {
        let watch = watch();
        watch.note_read(b"G");
        let due = watch.due().unwrap();
        watch.note_read(b"E");
        assert_eq!(watch.due(), Some(due));
    }

    #[test]
    fn bytes_of_http2_shorten_nothing() {
        let watch = watch();
        watch.set_http2();
        watch.note_read(b"PING");
        assert_eq!(left(&watch), Some(75));
        assert_eq!(watch.due().unwrap().park, None);
    }

    #[test]
    fn only_a_connection_that_is_still_idle_parks() {
        let watch = watch();
        assert!(!watch.take_may_park());
        watch.set_may_park();
        assert!(watch.take_may_park() && !watch.take_may_park());
        watch.set_may_park();
        watch.note_read(b"G");
        assert!(!watch.take_may_park());
    }

    #[test]
    fn each_request_has_a_scan_of_its_own() {
        let watch = watch();
        watch.note_read(b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: x\r\n\r\n");
        let framing = watch.begin_request();
        assert!(framing.has_length && framing.has_encoding);
        watch.note_read(b"\r\nContent-Length: 1\r\n");
        watch.end_request(Instant::now());
        watch.note_read(b"GET / HTTP/1.1\r\n\r\n");
        assert_eq!(watch.begin_request(), Framing::default());
    }
}
