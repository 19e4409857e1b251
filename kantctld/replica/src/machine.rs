//! What the log drives. Never knows that there are others: every replica's machine is told the
//! same entries in the same order.

use common::id::LogIndex;

/// The replicated state, or a stand-in in tests.
pub trait Machine {
    type Command;
    /// What it led to.
    type Answer;
    /// Everything, as it was at one entry.
    type Frozen: Send + 'static;

    /// Roughly how many bytes a request takes in an entry.
    fn weigh(command: &Self::Command) -> usize;

    /// Packs requests into the bytes of one entry, stamping the time.
    fn pack(&mut self, commands: Vec<Self::Command>) -> Vec<u8>;

    /// Applies a committed entry; one answer for each request packed into it. Must depend on
    /// nothing but the entries before.
    ///
    /// # Errors
    /// A sentence, when the bytes cannot be read: the process must end, for it cannot go on
    /// without knowing what was decided.
    fn apply(&mut self, index: LogIndex, entry: &[u8]) -> Result<Vec<Self::Answer>, String>;

    /// Everything as it is now, for a snapshot. To be quick: nothing is applied meanwhile.
    fn freeze(&self) -> Self::Frozen;

    /// Writes down what was frozen. May take long: entries are applied meanwhile.
    ///
    /// # Errors
    /// A sentence, when it cannot be written down.
    fn write_down(frozen: &Self::Frozen) -> Result<Vec<u8>, String>;

    /// Replaces everything by a snapshot.
    ///
    /// # Errors
    /// A sentence, when the bytes cannot be read.
    fn restore(&mut self, index: LogIndex, bytes: &[u8]) -> Result<(), String>;

    /// This controller leads and has applied everything decided before, or does so no more.
    fn lead(&mut self, leading: bool);
}
