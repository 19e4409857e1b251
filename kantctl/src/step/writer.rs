//! Our own standard output and error, written by a thread of their own: whoever reads them may stop
//! for an hour (a pager, Ctrl-S), and the step is still held, signalled and ended in time.
//! Never keeps more than it was given while there was room.

use crate::output::screen::{StderrRedirect, redirect_stderr};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Who has more than this waiting is given no more.
const ROOM_BYTES: usize = 1 << 20;

/// What waits, and what became of it.
#[derive(Debug, Default)]
struct Queue {
    /// For standard error?
    pieces: VecDeque<(bool, Vec<u8>)>,
    bytes: usize,
    error: Option<io::Error>,
    /// It failed once, or nobody has more.
    is_over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// There is more to write.
    more: Condvar,
    /// Something was written, or could not be.
    moved: Notify,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Both streams, in the order in which they are given pieces.
#[derive(Debug)]
pub struct Writer(Arc<Shared>);

impl Writer {
    /// Writes from now on, to our own streams.
    #[must_use]
    pub fn start() -> Self {
        Self::to(|is_error, bytes| {
            if is_error {
                return io::stderr().lock().write_all(bytes);
            }
            let mut out = io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        })
    }

    fn to(mut write: impl FnMut(bool, &[u8]) -> io::Result<()> + Send + 'static) -> Self {
        let shared = Arc::<Shared>::default();
        let thread = Arc::clone(&shared);
        // Ends with the last piece, or with kantctl.
        std::thread::spawn(move || {
            loop {
                let mut queue = thread.queue();
                while queue.pieces.is_empty() && !queue.is_over {
                    queue = thread.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                let Some((is_error, bytes)) = queue.pieces.pop_front() else { return };
                drop(queue);
                let written = write(is_error, &bytes);
                let mut queue = thread.queue();
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

    /// Puts a piece behind the others. One that comes after a failure is dropped: that is told by
    /// [`Self::moved`].
    pub fn write(&self, is_error: bool, bytes: Vec<u8>) {
        Self::put(&self.0, is_error, bytes);
    }

    fn put(shared: &Shared, is_error: bool, bytes: Vec<u8>) {
        let mut queue = shared.queue();
        if !queue.is_over && !bytes.is_empty() {
            queue.bytes += bytes.len();
            queue.pieces.push_back((is_error, bytes));
            shared.more.notify_one();
        }
    }

    /// Writes for those who say something on stderr, as long as this is held.
    pub fn voice(&self) -> StderrRedirect {
        let shared = Arc::clone(&self.0);
        redirect_stderr(move |bytes| Self::put(&shared, true, bytes))
    }

    /// May it be given more?
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.0.queue().bytes < ROOM_BYTES
    }

    /// Is all written that it was given, or lost?
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.queue().bytes == 0
    }

    /// Returns once something was written since this was last asked.
    ///
    /// # Errors
    /// When something could not be written; once.
    pub async fn moved(&self) -> io::Result<()> {
        self.0.moved.notified().await;
        self.0.queue().error.take().map_or(Ok(()), Err)
    }
}

impl Drop for Writer {
    /// The thread writes what it has and ends.
    fn drop(&mut self) {
        self.0.queue().is_over = true;
        self.0.more.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[tokio::test]
    async fn a_reader_that_stops_holds_up_the_writer_and_nobody_else() {
        let (go, wait) = channel::<()>();
        let (tell, told) = channel();
        let writer = Writer::to(move |is_error, bytes| {
            let _ = wait.recv();
            let _ = tell.send((is_error, bytes.len()));
            Ok(())
        });
        assert!(writer.has_room() && writer.is_done());
        writer.write(false, vec![0; ROOM_BYTES]);
        writer.write(true, vec![0; 3]);
        assert!(!writer.has_room(), "what waits is known at once");
        go.send(()).unwrap();
        writer.moved().await.unwrap();
        assert!(writer.has_room() && !writer.is_done());
        go.send(()).unwrap();
        writer.moved().await.unwrap();
        assert!(writer.is_done());
        assert_eq!(told.iter().take(2).collect::<Vec<_>>(), [(false, ROOM_BYTES), (true, 3)]);
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_is_told_once_and_what_comes_after_is_dropped() {
        let writer = Writer::to(|_, _| Err(io::ErrorKind::BrokenPipe.into()));
        writer.write(false, vec![1]);
        assert_eq!(writer.moved().await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        writer.write(false, vec![2]);
        assert!(writer.is_done() && writer.has_room());
    }
}
