//! The input of a task: a thread writes it as fast as the task reads, and the number of unread
//! bytes is known. The launcher never waits for it.

use super::Event;
use super::task::spawn;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel};

/// The writing end. When it is dropped, the stream ends after the bytes that were handed over.
pub struct TaskInput {
    feed: Sender<Vec<u8>>,
    /// Bytes that were handed over but not written.
    unread: Arc<AtomicUsize>,
}

impl TaskInput {
    /// Starts a thread that writes to `stream`, whose other end a task reads.
    pub fn start(mut stream: File, events: SyncSender<Event>) -> Self {
        let (feed, fed) = channel::<Vec<u8>>();
        let unread = Arc::<AtomicUsize>::default();
        let left = Arc::clone(&unread);
        spawn(move || {
            while let Ok(bytes) = fed.recv() {
                if stream.write_all(&bytes).is_err() {
                    break;
                }
                left.fetch_sub(bytes.len(), Ordering::AcqRel);
                // The launcher may have ended.
                let _ = events.send(Event::InputRead);
            }
            // In this order: bytes handed over from now on are refused, or subtracted here.
            drop(fed);
            left.store(0, Ordering::Release);
            let _ = events.send(Event::InputRead);
        });
        Self { feed, unread }
    }

    /// Hands over more bytes; false if the task has closed its input.
    pub fn feed(&self, bytes: &[u8]) -> bool {
        self.unread.fetch_add(bytes.len(), Ordering::AcqRel);
        self.feed.send(bytes.to_vec()).is_ok()
    }

    /// Bytes that were handed over but not read, not counting the pipe's content.
    pub fn unread(&self) -> usize {
        self.unread.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn bytes_are_unread_until_the_task_reads_or_closes_its_input() {
        const HANDED: usize = 1 << 20;
        let (events, received) = sync_channel(64);
        let (mut reader, stream) = std::io::pipe().unwrap();
        let input = TaskInput::start(OwnedFd::from(stream).into(), events);
        assert!(input.feed(&[0; HANDED]));
        assert_eq!(input.unread(), HANDED, "a pipe holds less, and there is no reader");
        reader.read_exact(&mut vec![0; HANDED]).unwrap();
        assert!(matches!(received.recv().unwrap(), Event::InputRead));
        assert_eq!(input.unread(), 0);
        assert!(input.feed(&[0; HANDED]));
        drop(reader);
        assert!(matches!(received.recv().unwrap(), Event::InputRead));
        assert_eq!(input.unread(), 0);
        assert!(!input.feed(&[0; HANDED]));
    }
}
