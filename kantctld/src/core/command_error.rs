//! Why a command was not carried out.

use crate::raft::ProposeError;
use common::reason::Refusal;

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The log did not accept it.
    #[error(transparent)]
    NotTaken(#[from] ProposeError),
    /// The state refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
}
