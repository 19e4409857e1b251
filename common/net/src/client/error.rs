//! Why a question got no answer, so told that a caller knows whether to ask again or elsewhere.
//! Never holds what a daemon's refusal means: that is between the two programs.

use std::error::Error as StdError;
use std::io;

use thiserror::Error;

use crate::refusal::ApiError;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody is there, or nobody we trust.
    #[error("failed to connect to {endpoint}: {advice}")]
    Unreachable {
        endpoint: String,
        /// What to look at.
        advice: &'static str,
        /// What the system or the TLS library said.
        #[source]
        source: io::Error,
    },
    /// The daemon said no.
    #[error("{error}")]
    Refused { status: u16, error: ApiError },
    /// No answer within the limit.
    #[error(
        "no answer from {endpoint} within {limit_seconds} s: it may still carry out what was asked"
    )]
    TimedOut { endpoint: String, limit_seconds: f32 },
    /// The connection broke before the answer was complete.
    #[error("lost the connection to {endpoint} before its answer; it may or may not have acted")]
    Interrupted {
        endpoint: String,
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// An answer came that makes no sense.
    #[error("failed to understand the answer of {endpoint}: is it of the same version?")]
    Broken {
        endpoint: String,
        /// What is wrong with it.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The question cannot be put into HTTP.
    #[error("failed to ask for {path:?}")]
    Unaskable {
        /// The path asked for.
        path: String,
        /// What is wrong with it.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl ClientError {
    /// The status and reason, if the daemon said no.
    pub fn refusal(&self) -> Option<(u16, &ApiError)> {
        match self {
            ClientError::Refused { status, error } => Some((*status, error)),
            _ => None,
        }
    }

    /// Whether nothing was asked because nobody was reached: another endpoint may be tried.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, ClientError::Unreachable { .. })
    }
}
