//! Why a session ended or did not begin, and what that means for the next one.

use super::rotation::Ending;
use net::{ChannelError, ClientError};
use std::time::Duration;

/// Why a session ended or did not begin.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error("failed to reach the controller")]
    Unreached(#[source] ClientError),
    #[error("the controller refuses this node: {0}")]
    Refused(String),
    #[error("the controller does not lead{}", leader_suffix(.0))]
    NotLeader(Option<String>),
    #[error("the controller did not answer within {0:?}")]
    NoWelcome(Duration),
    #[error(
        "the controller answered a hello with another message: check that its version is the same"
    )]
    NotAWelcome,
    #[error("the session ended")]
    Over(#[source] Option<ChannelError>),
    #[error("the runner is gone")]
    RunnerGone,
}

/// The end of a sentence that names the leader, if it is known.
fn leader_suffix(leader: &Option<String>) -> String {
    leader.as_ref().map(|leader| format!(": {leader} does")).unwrap_or_default()
}

/// Why there is no channel: the controller refuses the certificate, or it was not reached.
pub(super) fn not_connected(error: ClientError) -> SessionError {
    match error {
        ClientError::Refused { status: 403, error } => {
            let hint = error.hint.map(|hint| format!(": {hint}")).unwrap_or_default();
            SessionError::Refused(error.message + &hint)
        }
        error => SessionError::Unreached(error),
    }
}

/// The outcome that determines which controller comes next.
pub(super) fn ending(error: SessionError) -> Ending {
    match error {
        SessionError::Unreached(_) => Ending::Unreached,
        SessionError::Refused(_) => Ending::Refused,
        SessionError::NotLeader(leader) => Ending::NotLeader(leader),
        _ => Ending::Broken,
    }
}
