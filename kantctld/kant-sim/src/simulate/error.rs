//! Errors of a simulation.

use common::config::ConfigError;
use common::config::policy::TopologyError;
use sim::replay::ReplayError;
use std::io;
use trace::TraceError;

/// Why a simulation failed.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    #[error("failed to read {file}: {source}")]
    Read {
        file: String,
        #[source]
        source: io::Error,
    },
    #[error("failed to write {file}: {source}")]
    Write {
        file: String,
        #[source]
        source: io::Error,
    },
    /// An invalid trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An invalid topology file of a policy.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// An invalid policy file.
    #[error(transparent)]
    Policy(#[from] ConfigError),
    #[error(
        "failed to find the policy `{name}`: it is neither a file nor one of {known}; for a file \
         of this name give ./{name}"
    )]
    UnknownPolicy {
        name: String,
        /// The known names.
        known: String,
    },
    #[error("failed to use {option} {value}: give a number above zero, for example {example}")]
    Factor { option: &'static str, value: f64, example: &'static str },
    /// A log in the Standard Workload Format with nodes of different sizes.
    #[error(
        "failed to read {file}: its jobs ask for processors, which cannot be converted to nodes of \
         different sizes; give nodes that all have the same number of GPUs"
    )]
    SlotsDiffer { file: String },
    #[error("failed to fill the cluster: {what}; give a trace and nodes with GPUs")]
    NothingToFill { what: &'static str },
    #[error(
        "failed to simulate {policy}: no job of the trace could run, for the reasons above. \
         Typical causes are queues whose `nodes` are not in the trace, and quotas of other GPU \
         kinds: remove those keys from a copy of the file, or use the trace's names"
    )]
    AllLeftOut { policy: String },
    #[error(transparent)]
    Replay(#[from] ReplayError),
}
