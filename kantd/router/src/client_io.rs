//! The connection of a client, which ends when the client takes too long: to send a header, to send
//! the next request, or to read its answer.

use crate::client_stream::ClientStream;
use crate::client_watch::ClientWatch;
use hyper::body::Bytes;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How often a connection with a request in progress looks whether it has ended.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// A client's connection with its time limits.
#[derive(Debug)]
pub struct ClientIo {
    stream: ClientStream,
    /// Bytes that were read before, to be read first.
    first: Bytes,
    watch: Arc<ClientWatch>,
    /// Wakes the connection at its next limit, or earlier: a limit that moves into the future does
    /// not touch the timer.
    sleep: Option<Pin<Box<Sleep>>>,
    /// The client has accepted nothing since then.
    stalled_since: Option<Instant>,
}

impl ClientIo {
    /// `first` was read from the stream, and the watch knows it.
    pub const fn new(stream: ClientStream, first: Bytes, watch: Arc<ClientWatch>) -> Self {
        Self { stream, first, watch, sleep: None, stalled_since: None }
    }

    pub fn into_stream(self) -> ClientStream {
        self.stream
    }

    /// The next time at which there may be something to do.
    fn next_due(&self) -> Instant {
        let stall = self.stalled_since.map(|since| since + self.watch.limits().write_stall);
        match self.watch.due() {
            Some(due) => {
                let park = due.park.filter(|_| self.stalled_since.is_none());
                let others = [park, stall].into_iter().flatten();
                others.fold(due.end, Instant::min)
            }
            // The end of a request does not poll the connection.
            None => {
                let again = Instant::now() + LOOK_AGAIN.min(self.watch.limits().idle);
                stall.map_or(again, |stall| stall.min(again))
            }
        }
    }

    /// Waits for the next limit; ready with an error when one has passed.
    fn poll_limits(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            let due = tokio::time::Instant::from_std(self.next_due());
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
            if sleep.deadline() > due {
                sleep.as_mut().reset(due);
            }
            ready!(sleep.as_mut().poll(cx));
            if let Some(error) = self.enforce_limits(Instant::now()) {
                return Poll::Ready(error);
            }
            let next = tokio::time::Instant::from_std(self.next_due());
            if let Some(sleep) = &mut self.sleep {
                sleep.as_mut().reset(next);
            }
        }
    }

    /// Does what is due, and returns an error if the connection must end.
    fn enforce_limits(&self, now: Instant) -> Option<io::Error> {
        let timed_out = |what: &str| Some(io::Error::new(io::ErrorKind::TimedOut, what));
        let stall_max = self.watch.limits().write_stall;
        if self.stalled_since.is_some_and(|since| since + stall_max <= now) {
            return timed_out("the client does not read its answer");
        }
        let due = self.watch.due()?;
        if due.end <= now {
            return timed_out("the client sent no complete request in time");
        }
        if due.park.is_some_and(|park| park <= now) {
            self.watch.set_may_park();
        }
        None
    }

    fn note_write<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled_since = None;
            return written;
        }
        self.stalled_since.get_or_insert_with(Instant::now);
        Poll::Ready(Err(ready!(self.poll_limits(cx))))
    }
}

impl AsyncRead for ClientIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.first.is_empty() {
            let count = self.first.len().min(buf.remaining());
            buf.put_slice(&self.first.split_to(count));
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buf) {
            Poll::Ready(result) => {
                self.watch.note_read(&buf.filled()[before..]);
                Poll::Ready(result)
            }
            Poll::Pending => Poll::Ready(Err(ready!(self.poll_limits(cx)))),
        }
    }
}

impl AsyncWrite for ClientIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // With TLS, what was written may still wait here.
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.note_write(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.note_write(cx, shut)
    }
}
