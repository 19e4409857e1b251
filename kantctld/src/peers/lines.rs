//! Where letters leave the log's thread: a queue for each controller that is connected. Never waits
//! and never keeps a letter for one that is not.

use crate::raft::{Letter, Post};
use common::id::ControllerId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::Sender;

/// The queues to one controller.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub letters: Sender<Letter>,
    pub snapshots: Sender<Letter>,
}

#[derive(Debug, Default)]
pub struct Lines(Mutex<BTreeMap<ControllerId, Line>>);

/// Keeps a line open as long as it lives.
pub(super) struct OpenLine {
    lines: Arc<Lines>,
    to: ControllerId,
    letters: Sender<Letter>,
}

impl Lines {
    /// What the log hands its letters to.
    pub fn post(self: &Arc<Self>) -> Post {
        let lines = self.clone();
        Box::new(move |letter| lines.send(letter))
    }

    /// True: on its way.
    fn send(&self, letter: Letter) -> bool {
        let lines = self.lines();
        let Some(line) = lines.get(&letter.to) else { return false };
        let queue = if letter.has_snapshot { &line.snapshots } else { &line.letters };
        queue.try_send(letter).is_ok()
    }

    pub(super) fn open(self: &Arc<Self>, to: ControllerId, line: Line) -> OpenLine {
        let letters = line.letters.clone();
        self.lines().insert(to, line);
        OpenLine { lines: self.clone(), to, letters }
    }

    fn lines(&self) -> MutexGuard<'_, BTreeMap<ControllerId, Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenLine {
    fn drop(&mut self) {
        let mut lines = self.lines.lines();
        // A later dialler may have opened it anew.
        if lines.get(&self.to).is_some_and(|line| line.letters.same_channel(&self.letters)) {
            lines.remove(&self.to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    fn letter(to: u64, has_snapshot: bool) -> Letter {
        Letter { to: ControllerId(to), has_snapshot, bytes: vec![1] }
    }

    #[test]
    fn a_letter_goes_where_its_receiver_is_connected_and_nowhere_else() {
        let lines = Arc::new(Lines::default());
        let post = lines.post();
        let (letters, mut letters_seen) = mpsc::channel(1);
        let (snapshots, mut snapshots_seen) = mpsc::channel(1);
        assert!(!post(letter(2, false)), "nobody is connected");
        let line = Line { letters, snapshots };
        let first = lines.open(ControllerId(2), line.clone());
        assert!(post(letter(2, false)) && post(letter(2, true)));
        assert!(!post(letter(2, false)), "full");
        assert!(!post(letter(3, false)));
        assert!(!letters_seen.try_recv().unwrap().has_snapshot);
        assert!(snapshots_seen.try_recv().unwrap().has_snapshot);
        let again = Line { letters: mpsc::channel(1).0, ..line };
        let _second = lines.open(ControllerId(2), again);
        drop(first);
        assert!(lines.lines().contains_key(&ControllerId(2)), "the later one stays");
    }
}
