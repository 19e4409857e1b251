//! Errors of a simulated service.

use common::autoscale::PolicyError;
use sim::service::TuneError;
use std::io;
use trace::TraceError;

/// Why a service was not simulated.
#[derive(Debug, thiserror::Error)]
pub enum ServicesError {
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
    #[error("failed to write the result: {0}")]
    Print(#[from] io::Error),
    /// An invalid trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A file that is not a policy.
    #[error("failed to read the policy {file}: {problem}")]
    Form { file: String, problem: String },
    #[error("failed to use the policy {file}: {source}")]
    Policy {
        file: String,
        #[source]
        source: PolicyError,
    },
    #[error(
        "failed to find the policy `{name}`: it is neither a file nor one of {known}; for a file \
         of this name give ./{name}"
    )]
    UnknownPolicy { name: String, known: String },
    #[error("failed to use {option} {value}: {valid}")]
    Option { option: &'static str, value: String, valid: &'static str },
    #[error(transparent)]
    Tune(#[from] TuneError),
}
