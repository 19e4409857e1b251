//! How far tasks may write ahead of whoever reads them, on another node: what passes between is a
//! file there, and a reader that is slow would find the disk full. Never loses what was written.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// So many bytes may wait to be taken; besides them what threads have in their hands.
const AHEAD_BYTES: u64 = 4 << 20;

#[derive(Debug, Default)]
struct Count {
    said: u64,
    taken: u64,
    /// Whoever reads says what they took.
    holds: bool,
}

impl Count {
    const fn is_full(&self) -> bool {
        self.holds && self.said.saturating_sub(self.taken) >= AHEAD_BYTES
    }
}

/// Open until it is told to hold.
#[derive(Debug, Default)]
pub struct Gate {
    count: Mutex<Count>,
    taken: Condvar,
}

impl Gate {
    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on nobody gets far ahead; or everybody does, when nobody reads any more.
    pub fn hold(&self, holds: bool) {
        self.count().holds = holds;
        self.taken.notify_all();
    }

    /// So many more bytes were said.
    pub fn say(&self, bytes: usize) {
        self.count().said += bytes as u64;
    }

    /// So many were taken in all.
    pub fn note_taken(&self, bytes: u64) {
        let mut count = self.count();
        count.taken = count.taken.max(bytes);
        self.taken.notify_all();
    }

    /// Does somebody wait, or is about to?
    pub fn is_full(&self) -> bool {
        self.count().is_full()
    }

    /// Until there is room.
    pub fn pass(&self) {
        let mut count = self.count();
        while count.is_full() {
            count = self.taken.wait(count).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn who_is_far_ahead_waits_until_enough_is_taken_or_nobody_reads() {
        let gate = Arc::new(Gate::default());
        gate.say(usize::try_from(AHEAD_BYTES).unwrap());
        gate.pass();
        gate.hold(true);
        for end in [|gate: &Gate| gate.note_taken(1), |gate: &Gate| gate.hold(false)] {
            assert!(gate.is_full());
            let waits = Arc::clone(&gate);
            let waiting = std::thread::spawn(move || waits.pass());
            end(&gate);
            waiting.join().unwrap();
            gate.say(1);
        }
    }
}
