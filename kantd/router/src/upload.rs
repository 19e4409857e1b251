//! The body of a request on its way to a replica. A client that sends it too slowly ends the
//! request, as it holds a place in the replica; once the answer has begun, it may take its time, as
//! both may be talking to each other.

use crate::clock;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::Sleep;

/// The client sent less than the lowest rate allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body of the request came at less than {0} bytes per second")]
pub struct TooSlow(pub u64);

/// What the request's sender knows of its body.
#[derive(Debug)]
pub struct Progress {
    /// The router waits for the client, not for the replica.
    is_awaited: AtomicBool,
    /// The answer has begun.
    is_answered: AtomicBool,
    moved_nanoseconds: AtomicU64,
}

/// The lowest rate of a body.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    pub bytes_per_second: u64,
    pub window: Duration,
}

/// The body that a replica gets.
#[derive(Debug)]
pub enum Upload {
    Empty,
    Streamed(Box<Streamed>),
}

#[derive(Debug)]
pub struct Streamed {
    body: Incoming,
    progress: Arc<Progress>,
    rate: Rate,
    /// In the current window: bytes that came, and how long the router has waited for them.
    bytes: u64,
    waited: Duration,
    waits_since: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Progress {
    /// The time since which the replica is expected to act; `None` while the client is.
    pub fn awaits_replica_since(&self) -> Option<Instant> {
        let is_awaited = self.is_awaited.load(Relaxed);
        (!is_awaited).then(|| clock::instant(self.moved_nanoseconds.load(Relaxed)))
    }

    pub fn set_answered(&self) {
        self.is_answered.store(true, Relaxed);
    }

    fn note_progress(&self) {
        self.is_awaited.store(false, Relaxed);
        self.moved_nanoseconds.store(clock::nanoseconds(Instant::now()), Relaxed);
    }
}

impl Upload {
    /// The body and, if there is one, its progress.
    pub fn new(body: Incoming, rate: Rate) -> (Self, Option<Arc<Progress>>) {
        if body.is_end_stream() {
            return (Self::Empty, None);
        }
        let progress = Arc::new(Progress {
            is_awaited: AtomicBool::new(false),
            is_answered: AtomicBool::new(false),
            moved_nanoseconds: AtomicU64::new(clock::nanoseconds(Instant::now())),
        });
        let streamed = Streamed {
            body,
            progress: progress.clone(),
            rate,
            bytes: 0,
            waited: Duration::ZERO,
            waits_since: None,
            sleep: None,
        };
        (Self::Streamed(Box::new(streamed)), Some(progress))
    }
}

impl Streamed {
    fn note_frame(&mut self, frame: &Frame<Bytes>) {
        self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        if let Some(since) = self.waits_since.take() {
            self.waited += since.elapsed();
        }
        self.progress.note_progress();
    }

    /// Waits for the end of the window; ready if too little came in it.
    fn poll_rate(&mut self, cx: &mut Context<'_>) -> Poll<TooSlow> {
        self.progress.is_awaited.store(true, Relaxed);
        loop {
            let since = *self.waits_since.get_or_insert_with(Instant::now);
            let end = since + self.rate.window.saturating_sub(self.waited);
            let end = tokio::time::Instant::from_std(end);
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
            if sleep.deadline() != end {
                sleep.as_mut().reset(end);
            }
            ready!(sleep.as_mut().poll(cx));
            let is_answered = self.progress.is_answered.load(Relaxed);
            if !is_answered && self.bytes < self.rate.bytes_min() {
                return Poll::Ready(TooSlow(self.rate.bytes_per_second));
            }
            (self.bytes, self.waited, self.waits_since) = (0, Duration::ZERO, None);
        }
    }
}

impl Rate {
    fn bytes_min(&self) -> u64 {
        let milliseconds = u64::try_from(self.window.as_millis()).unwrap_or(u64::MAX);
        self.bytes_per_second.saturating_mul(milliseconds) / 1000
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Self::Streamed(streamed) = &mut *self else { return Poll::Ready(None) };
        match Pin::new(&mut streamed.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                streamed.note_frame(&frame);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => {
                streamed.progress.note_progress();
                Poll::Ready(None)
            }
            Poll::Pending => {
                let slow = ready!(streamed.poll_rate(cx));
                Poll::Ready(Some(Err(slow.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Streamed(streamed) => streamed.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Streamed(streamed) => streamed.body.size_hint(),
        }
    }
}
