//! Flow control of the tasks' output: how far they may write ahead of the client on another node.
//! The data between them is in a file, and a slow client would let it fill the disk.

use common::sync::{Condvar, Mutex};

/// The limit of bytes waiting to be processed, not counting the buffers of threads.
const AHEAD_BYTES: u64 = 4 << 20;

#[derive(Debug, Default)]
struct Count {
    sent: u64,
    processed: u64,
    /// Whether the client confirms what it has processed.
    enabled: bool,
}

impl Count {
    const fn is_full(&self) -> bool {
        self.enabled && self.sent.saturating_sub(self.processed) >= AHEAD_BYTES
    }
}

/// Open until flow control is switched on.
#[derive(Debug, Default)]
pub struct FlowControl {
    count: Mutex<Count>,
    processed: Condvar,
}

impl FlowControl {
    /// Switches flow control on or off.
    pub fn set_enabled(&self, enabled: bool) {
        self.count.lock().enabled = enabled;
        self.processed.notify_all();
    }

    /// Adds bytes that were sent.
    pub fn add_sent(&self, bytes: usize) {
        self.count.lock().sent += bytes as u64;
    }

    /// Sets the number of bytes processed in total.
    pub fn set_processed(&self, bytes: u64) {
        let mut count = self.count.lock();
        count.processed = count.processed.max(bytes);
        self.processed.notify_all();
    }

    /// Whether senders have to wait.
    pub fn is_full(&self) -> bool {
        self.count.lock().is_full()
    }

    /// Waits until there is capacity.
    pub fn wait(&self) {
        let mut count = self.count.lock();
        while count.is_full() {
            count = self.processed.wait(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_sender_waits_until_output_is_processed_or_flow_control_ends() {
        let flow_control = Arc::new(FlowControl::default());
        flow_control.add_sent(usize::try_from(AHEAD_BYTES).unwrap());
        flow_control.wait();
        flow_control.set_enabled(true);
        for end in [
            |flow_control: &FlowControl| flow_control.set_processed(1),
            |flow_control: &FlowControl| flow_control.set_enabled(false),
        ] {
            assert!(flow_control.is_full());
            let waits = Arc::clone(&flow_control);
            let waiting = std::thread::spawn(move || waits.wait());
            end(&flow_control);
            waiting.join().unwrap();
            flow_control.add_sent(1);
        }
    }
}
