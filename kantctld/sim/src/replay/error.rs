//! Errors of a replay. Errors in a trace are found when it is read.

use crate::report::ReportError;
use common::id::{AttemptId, NodeName};
use common::reason::Refusal;
use state::ledger::StartRefusal;

/// A replay that cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The trace has more jobs than there are job numbers.
    #[error(
        "failed to replay the trace: it has {jobs} jobs, more than {most}; replay a part of it"
    )]
    TooManyJobs {
        jobs: usize,
        /// The most jobs that can be replayed at once.
        most: u32,
    },
    /// A decision of the engine names an unknown node.
    #[error(
        "failed to start a job: the engine put it on {node}, which does not exist; report this"
    )]
    UnknownNode { node: NodeName },
    /// A decision of the engine names a job that is not in the expected state.
    #[error("failed to carry out a decision: job {job} is not {expected}; report this")]
    WrongState {
        /// The job's number in the trace.
        job: u64,
        /// The expected state.
        expected: &'static str,
    },
    /// The state refused a report of a node or a round.
    #[error("failed to carry out a command of the replay: {refusal}; report this")]
    Refused { refusal: Box<Refusal> },
    /// The state refused a decision of the round.
    #[error("failed to carry out a decision on {id}: {reason}; report this")]
    NotEnacted { id: AttemptId, reason: StartRefusal },
    /// The passes are out of order.
    #[error(transparent)]
    Report(#[from] ReportError),
}
