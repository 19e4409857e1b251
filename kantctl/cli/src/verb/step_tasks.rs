//! `kantctl step-tasks`: the process that starts the tasks of a step on a node. kantd runs it;
//! users do not.

use crate::failure::Failure;
use crate::step::launcher;

/// Runs it.
///
/// # Errors
/// [`Failure`] when the request cannot be understood, or the client not be reached.
pub fn run() -> Result<u8, Failure> {
    launcher::run()
}
