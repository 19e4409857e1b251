//! The state machine that the log drives. All replicas apply the same entries in the same order.

use common::id::LogIndex;
use common::rules_level::{TooEarly, UnknownLevel};

/// The replicated state, or a stand-in in tests.
pub trait Machine {
    type Command;
    /// The result of a command.
    type Answer;
    /// A copy of the whole state at one entry.
    type Frozen: Send + 'static;

    /// The approximate size of a command in an entry.
    fn command_bytes(command: &Self::Command) -> usize;

    /// Checks that the cluster applies the rules level of a command already.
    ///
    /// # Errors
    /// [`TooEarly`].
    fn check_command(&self, command: &Self::Command) -> Result<(), TooEarly>;

    /// Checks that this build can apply an entry, by its header.
    ///
    /// # Errors
    /// [`UnknownLevel`].
    fn check_entry_level(&self, entry: &[u8]) -> Result<(), UnknownLevel>;

    /// The same for an encoded snapshot.
    ///
    /// # Errors
    /// [`UnknownLevel`].
    fn check_snapshot_level(&self, bytes: &[u8]) -> Result<(), UnknownLevel>;

    /// Encodes commands into one entry, with a time stamp.
    fn pack(&mut self, commands: Vec<Self::Command>) -> Vec<u8>;

    /// Applies a committed entry and returns one answer for each command in it. Must depend only on
    /// the entries before.
    ///
    /// # Errors
    /// A sentence, if the entry cannot be decoded. The process must end, because it cannot continue
    /// without knowing the decision.
    fn apply(&mut self, index: LogIndex, entry: &[u8]) -> Result<Vec<Self::Answer>, String>;

    /// Copies the state for a snapshot. Must be quick, because it blocks `apply`.
    fn freeze(&self) -> Self::Frozen;

    /// Encodes such a copy. May take long: entries are applied meanwhile.
    ///
    /// # Errors
    /// A sentence, if it cannot be encoded.
    fn encode_snapshot(frozen: &Self::Frozen) -> Result<Vec<u8>, String>;

    /// A checksum of such a copy. Replicas that applied the same entries have the same.
    ///
    /// # Errors
    /// A sentence, if it cannot be encoded.
    fn checksum(frozen: &Self::Frozen) -> Result<u32, String>;

    /// Replaces the state by a snapshot.
    ///
    /// # Errors
    /// A sentence, if the bytes cannot be decoded.
    fn restore(&mut self, index: LogIndex, bytes: &[u8]) -> Result<(), String>;

    /// Notes whether this controller leads and has applied everything committed before its term.
    fn set_leading(&mut self, leading: bool);
}
