//! What can go wrong in a simulation. Never without what to do next.

use crate::settings::FileError;
use common::config::ConfigError;
use sim::replay::ReplayError;
use sim::trace::TraceError;
use std::io;

/// A simulation that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// A file that the system did not give.
    #[error("failed to read {file}: {source}")]
    Read {
        file: String,
        #[source]
        source: io::Error,
    },
    /// A file that could not be written.
    #[error("failed to write {file}: {source}")]
    Write {
        file: String,
        #[source]
        source: io::Error,
    },
    /// A trace that makes no sense.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A policy file that could not be read.
    #[error(transparent)]
    PolicyFile(#[from] FileError),
    /// A policy file that makes no sense.
    #[error(transparent)]
    Policy(#[from] ConfigError),
    /// Neither a name nor a file.
    #[error(
        "failed to find the policy `{name}`: it is neither a file nor one of {known}; \
         write ./{name} for a file of that name"
    )]
    UnknownPolicy {
        name: String,
        /// The names there are.
        known: String,
    },
    /// A factor that is none.
    #[error("failed to use {option} {value}: write a number above zero, like {example}")]
    Factor { option: &'static str, value: f64, example: &'static str },
    /// A log in the Standard Workload Format, on nodes that differ.
    #[error(
        "failed to read {file}: its jobs ask for processors, and nodes of different size give no \
         number of nodes for them; give nodes that all have the same number of gpus"
    )]
    SlotsDiffer { file: String },
    /// Nothing to fill, or to fill with.
    #[error("failed to fill the cluster: {what}; give a trace and nodes that have some")]
    NothingToFill { what: &'static str },
    /// Nothing was left to replay.
    #[error(
        "failed to simulate {policy}: not one job of the trace could run; the lines above say why. \
         Queues whose `nodes` name none of the trace's nodes, or quotas of other GPU kinds, do \
         that: leave those keys out of a copy of the file, or name the trace's own"
    )]
    AllLeftOut { policy: String },
    #[error(transparent)]
    Replay(#[from] ReplayError),
}
