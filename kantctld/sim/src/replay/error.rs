//! What can go wrong in a replay. Never a wrong trace: reading it found that.

use crate::report::ReportError;
use common::id::{AttemptId, NodeName};
use common::reason::Refusal;
use state::ledger::StartRefusal;

/// A replay that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The trace has more jobs than job numbers.
    #[error(
        "failed to replay the trace: it has {jobs} jobs, more than {most}; replay a part of it"
    )]
    TooManyJobs {
        jobs: usize,
        /// So many can be replayed at once.
        most: u32,
    },
    /// A decision of the engine names a node that it was not told of.
    #[error(
        "failed to start a job: the engine put it on {node}, which does not exist; report this"
    )]
    UnknownNode { node: NodeName },
    /// A decision of the engine names a job that is not in that state.
    #[error("failed to carry out a decision: job {job} is not {expected}; report this")]
    WrongState {
        /// The job's number in the trace.
        job: u64,
        /// What it should be.
        expected: &'static str,
    },
    /// The state did not take what a node or the round said.
    #[error("failed to carry out a command of the replay: {refusal}; report this")]
    Refused { refusal: Box<Refusal> },
    /// The state did not take what the round decided.
    #[error("failed to carry out a decision on {id}: {reason}; report this")]
    NotEnacted { id: AttemptId, reason: StartRefusal },
    /// The passes are out of order.
    #[error(transparent)]
    Report(#[from] ReportError),
}
