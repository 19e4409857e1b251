//! Errors of a request, by which a caller knows whether to retry it, or to try another daemon.

use std::error::Error as StdError;
use std::io;

use thiserror::Error;

use crate::refusal::ApiError;

/// Why a request got no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No daemon is reachable, or none that is trusted.
    #[error("failed to connect to {endpoint}: {advice}")]
    Unreachable {
        endpoint: String,
        advice: &'static str,
        /// The error of the system or the TLS library.
        #[source]
        source: io::Error,
    },
    /// The daemon refused.
    #[error("{error}")]
    Refused { status: u16, error: ApiError },
    #[error(
        "no answer from {endpoint} within {limit_seconds} s: it may still carry out the request"
    )]
    TimedOut { endpoint: String, limit_seconds: f32 },
    /// The connection broke before the answer was complete.
    #[error("lost the connection to {endpoint} before its answer; it may or may not have acted")]
    Interrupted {
        endpoint: String,
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The answer is invalid.
    #[error("failed to understand the answer of {endpoint}: is it of the same version?")]
    Broken {
        endpoint: String,
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The request cannot be expressed in HTTP.
    #[error("failed to make a request for {path:?}")]
    Unaskable {
        path: String,
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl ClientError {
    /// The status and reason, if the daemon refused.
    pub fn refusal(&self) -> Option<(u16, &ApiError)> {
        match self {
            ClientError::Refused { status, error } => Some((*status, error)),
            _ => None,
        }
    }

    /// Was no daemon reached, so that another endpoint may be tried?
    pub fn is_unreachable(&self) -> bool {
        matches!(self, ClientError::Unreachable { .. })
    }
}
