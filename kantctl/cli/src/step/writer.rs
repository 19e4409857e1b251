//! Writing to stdout and stderr in a thread of its own: their reader may pause for an hour (a
//! pager, Ctrl-S) while the step must still be renewed, signalled and ended in time.

use crate::output::screen::{StderrRedirect, redirect_stderr};
use common::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use tokio::sync::Notify;

/// No more is accepted while more than this is waiting.
const ROOM_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
struct Queue {
    /// Pieces with whether they go to stderr.
    pieces: VecDeque<(bool, Vec<u8>)>,
    bytes: usize,
    error: Option<io::Error>,
    /// Writing failed, or the writer was dropped.
    is_over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// There is more to write.
    more: Condvar,
    /// A piece was written, or writing failed.
    moved: Notify,
}

/// A writer to both streams, which preserves the order of pieces.
#[derive(Debug)]
pub struct Writer(Arc<Shared>);

impl Writer {
    /// Starts writing to stdout and stderr.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(|is_error, bytes| {
            if is_error {
                return io::stderr().lock().write_all(bytes);
            }
            let mut out = io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        })
    }

    fn start_with(mut write: impl FnMut(bool, &[u8]) -> io::Result<()> + Send + 'static) -> Self {
        let shared = Arc::<Shared>::default();
        let thread = Arc::clone(&shared);
        // The thread ends after the last piece, or with kantctl.
        std::thread::spawn(move || {
            loop {
                let mut queue = thread.queue.lock();
                while queue.pieces.is_empty() && !queue.is_over {
                    queue = thread.more.wait(queue);
                }
                let Some((is_error, bytes)) = queue.pieces.pop_front() else { return };
                drop(queue);
                let written = write(is_error, &bytes);
                let mut queue = thread.queue.lock();
                queue.bytes = queue.bytes.saturating_sub(bytes.len());
                if let Err(error) = written {
                    *queue = Queue { error: Some(error), is_over: true, ..Queue::default() };
                }
                drop(queue);
                thread.moved.notify_one();
            }
        });
        Self(shared)
    }

    /// Appends a piece. After a failure, which [`Self::wait_until_written`] returns, pieces are
    /// dropped.
    pub fn write(&self, is_error: bool, bytes: Vec<u8>) {
        Self::put(&self.0, is_error, bytes);
    }

    fn put(shared: &Shared, is_error: bool, bytes: Vec<u8>) {
        let mut queue = shared.queue.lock();
        if !queue.is_over && !bytes.is_empty() {
            queue.bytes += bytes.len();
            queue.pieces.push_back((is_error, bytes));
            shared.more.notify_one();
        }
    }

    /// Redirects messages on stderr through this writer, as long as the result is held.
    pub fn redirect_stderr(&self) -> StderrRedirect {
        let shared = Arc::clone(&self.0);
        redirect_stderr(move |bytes| Self::put(&shared, true, bytes))
    }

    /// Whether more can be accepted.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.0.queue.lock().bytes < ROOM_BYTES
    }

    /// Whether all pieces are written or dropped.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.queue.lock().bytes == 0
    }

    /// Waits until something has been written since the last call.
    ///
    /// # Errors
    /// If writing failed; only once.
    pub async fn wait_until_written(&self) -> io::Result<()> {
        self.0.moved.notified().await;
        self.0.queue.lock().error.take().map_or(Ok(()), Err)
    }
}

impl Drop for Writer {
    /// The thread writes the remaining pieces and ends.
    fn drop(&mut self) {
        self.0.queue.lock().is_over = true;
        self.0.more.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[tokio::test]
    async fn a_reader_that_stops_blocks_only_the_writing_thread() {
        let (go, wait) = channel::<()>();
        let (sender, received) = channel();
        let writer = Writer::start_with(move |is_error, bytes| {
            let _ = wait.recv();
            let _ = sender.send((is_error, bytes.len()));
            Ok(())
        });
        assert!(writer.has_room() && writer.is_done());
        writer.write(false, vec![0; ROOM_BYTES]);
        writer.write(true, vec![0; 3]);
        assert!(!writer.has_room(), "waiting bytes are counted immediately");
        go.send(()).unwrap();
        writer.wait_until_written().await.unwrap();
        assert!(writer.has_room() && !writer.is_done());
        go.send(()).unwrap();
        writer.wait_until_written().await.unwrap();
        assert!(writer.is_done());
        assert_eq!(received.iter().take(2).collect::<Vec<_>>(), [(false, ROOM_BYTES), (true, 3)]);
    }

    #[tokio::test]
    async fn a_closed_stream_is_reported_once_and_later_pieces_are_dropped() {
        let writer = Writer::start_with(|_, _| Err(io::ErrorKind::BrokenPipe.into()));
        writer.write(false, vec![1]);
        assert_eq!(
            writer.wait_until_written().await.unwrap_err().kind(),
            io::ErrorKind::BrokenPipe
        );
        writer.write(false, vec![2]);
        assert!(writer.is_done() && writer.has_room());
    }
}
