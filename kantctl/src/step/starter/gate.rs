//! Flow control of the tasks' output: how far they may write ahead of the client on another node.
//! The data between them is in a file, and a slow client would let it fill the disk.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The limit of bytes waiting to be processed, not counting the buffers of threads.
const AHEAD_BYTES: u64 = 4 << 20;

#[derive(Debug, Default)]
struct Count {
    said: u64,
    taken: u64,
    /// Whether the client confirms what it has processed.
    holds: bool,
}

impl Count {
    const fn is_full(&self) -> bool {
        self.holds && self.said.saturating_sub(self.taken) >= AHEAD_BYTES
    }
}

/// Open until flow control is switched on.
#[derive(Debug, Default)]
pub struct Gate {
    count: Mutex<Count>,
    taken: Condvar,
}

impl Gate {
    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Switches flow control on or off.
    pub fn hold(&self, holds: bool) {
        self.count().holds = holds;
        self.taken.notify_all();
    }

    /// Adds bytes that were sent.
    pub fn say(&self, bytes: usize) {
        self.count().said += bytes as u64;
    }

    /// Sets the number of bytes processed in total.
    pub fn note_taken(&self, bytes: u64) {
        let mut count = self.count();
        count.taken = count.taken.max(bytes);
        self.taken.notify_all();
    }

    /// Whether senders have to wait.
    pub fn is_full(&self) -> bool {
        self.count().is_full()
    }

    /// Waits until there is capacity.
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
    fn a_sender_waits_until_output_is_processed_or_flow_control_ends() {
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
