//! What a task reads: a thread of its own writes it, as fast as the task takes it, and says how
//! much is left. Never waits for the task, and never says that what it has not read
//! is out of the way.

use super::Heard;
use super::task::spawn;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel};

/// The writing end, until it is dropped: then the stream ends, behind what was handed over.
pub struct Input {
    feed: Sender<Vec<u8>>,
    /// Bytes that were handed over and are not written.
    unread: Arc<AtomicUsize>,
}

impl Input {
    /// Of a task that reads the other end of `stream`.
    pub fn of(mut stream: File, tell: SyncSender<Heard>) -> Self {
        let (feed, fed) = channel::<Vec<u8>>();
        let unread = Arc::<AtomicUsize>::default();
        let left = Arc::clone(&unread);
        spawn(move || {
            while let Ok(bytes) = fed.recv() {
                if stream.write_all(&bytes).is_err() {
                    break;
                }
                left.fetch_sub(bytes.len(), Ordering::AcqRel);
                // The starter may be over.
                let _ = tell.send(Heard::Took);
            }
            // In this order: what is handed over meanwhile finds nobody, or is taken off here.
            drop(fed);
            left.store(0, Ordering::Release);
            let _ = tell.send(Heard::Took);
        });
        Self { feed, unread }
    }

    /// Hands it more; false: the task reads no more.
    pub fn feed(&self, bytes: &[u8]) -> bool {
        self.unread.fetch_add(bytes.len(), Ordering::AcqRel);
        self.feed.send(bytes.to_vec()).is_ok()
    }

    /// Bytes that were handed over and have not been read, beyond what the pipe holds.
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
    fn what_a_task_does_not_read_counts_until_it_reads_or_closes_its_input() {
        const HANDED: usize = 1 << 20;
        let (tell, told) = sync_channel(64);
        let (mut reader, stream) = std::io::pipe().unwrap();
        let input = Input::of(OwnedFd::from(stream).into(), tell);
        assert!(input.feed(&[0; HANDED]));
        assert_eq!(input.unread(), HANDED, "a pipe holds less, and nobody reads");
        reader.read_exact(&mut vec![0; HANDED]).unwrap();
        assert!(matches!(told.recv().unwrap(), Heard::Took));
        assert_eq!(input.unread(), 0);
        assert!(input.feed(&[0; HANDED]));
        drop(reader);
        assert!(matches!(told.recv().unwrap(), Heard::Took));
        assert_eq!(input.unread(), 0);
        assert!(!input.feed(&[0; HANDED]));
    }
}
