//! `kantctl step-tasks`: what starts the tasks of a step on a node. Never typed by anybody.

use crate::failure::Failure;
use crate::step::starter;

/// Runs it.
///
/// # Errors
/// [`Failure`] when whoever asked cannot be understood or reached.
pub fn run() -> Result<u8, Failure> {
    starter::run()
}
