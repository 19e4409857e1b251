//! Why a verb failed, and its exit code.

use net::ClientError;
use std::fmt;

pub const OK: u8 = 0;

/// The kind of failure, which determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The controller refused, or something failed on this side: exit code 1.
    Refused,
    /// The command line is invalid: exit code 2.
    Usage,
    /// The controller cannot be reached: exit code 3.
    Unreachable,
    /// The reader of stdout has closed it (`kantctl queue | head`): nothing is printed, and the
    /// exit code is the one that a shell reports for SIGPIPE.
    ReaderGone,
}

impl Kind {
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Refused => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::ReaderGone => 141,
        }
    }
}

/// A failure with its causes and, if known, what to do next.
#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    /// What failed, with its causes.
    pub error: anyhow::Error,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    pub fn new(kind: Kind, error: impl Into<anyhow::Error>) -> Self {
        Self { kind, error: error.into(), hint: None }
    }

    /// The controller refused, or something failed on this side.
    pub fn refused(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Kind::Refused, error)
    }

    /// The command line is invalid.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Kind::Usage, error)
    }

    /// A refusal with this text.
    #[must_use]
    pub fn from_message(text: String) -> Self {
        Self::refused(anyhow::Error::msg(text))
    }

    /// Whether a node, rather than the controller, does not respond.
    #[must_use]
    pub fn is_silent_node(&self) -> bool {
        self.error.downcast_ref().is_some_and(is_silent_node)
    }

    /// For programs: a stable code (the controller's, or the kind of failure), what failed, and
    /// what to do next if known.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let kind = match self.kind {
            Kind::Refused | Kind::ReaderGone => "failed",
            Kind::Usage => "usage",
            Kind::Unreachable => "unreachable",
        };
        let (code, message) = (self.error_code().unwrap_or(kind), self.chain());
        serde_json::json!({ "code": code, "message": message, "hint": self.hint })
    }

    /// The controller's error code, if the controller refused.
    #[must_use]
    pub fn error_code(&self) -> Option<&str> {
        match self.error.downcast_ref() {
            Some(ClientError::Refused { error, .. }) => Some(error.code.as_str()),
            _ => None,
        }
    }

    /// All causes, in one line.
    fn chain(&self) -> String {
        let mut shown: Vec<String> = Vec::new();
        for cause in self.error.chain() {
            let text = cause.to_string();
            // A cause that the message already contains is not repeated.
            if !shown.last().is_some_and(|last| last.contains(&text)) {
                shown.push(text);
            }
        }
        shown.join(": ")
    }

    /// The same failure with a hint: what to do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Whether the controller answered that a node does not respond. The status is 502, but the
/// controller itself is reachable.
#[must_use]
pub fn is_silent_node(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { error, .. } if error.code == "node_silent")
}

const NOT_EXECUTED: [&str; 4] =
    ["no-leader", "controller-unreachable", "too_many_requests", "too_many_connections"];

/// Whether a daemon answered that it did not execute the request: no controller leads, the one to
/// forward to cannot be reached, or this user has too many requests open.
#[must_use]
pub fn is_not_executed(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::Refused { error, .. }
            if NOT_EXECUTED.contains(&error.code.as_str())
    )
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::refused(error)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let (kind, hint) = match &error {
            ClientError::Refused { error: refusal, .. } if is_silent_node(&error) => {
                (Kind::Refused, refusal.hint.clone())
            }
            // From a daemon in between, or from a controller without a leader.
            ClientError::Refused { status: 502..=504, error } => {
                (Kind::Unreachable, error.hint.clone())
            }
            ClientError::Refused { error, .. } => (Kind::Refused, error.hint.clone()),
            ClientError::Unreachable { .. }
            | ClientError::TimedOut { .. }
            | ClientError::Interrupted { .. } => (Kind::Unreachable, None),
            ClientError::Broken { .. } | ClientError::Unaskable { .. } => (Kind::Refused, None),
        };
        Self { kind, error: error.into(), hint }
    }
}

/// All causes in one line, and the hint in a second.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.chain())?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn causes_are_printed_once_and_the_hint_last() {
        let error = std::io::Error::other("no space");
        let error = Err::<(), _>(error).context("failed to write x: no space").unwrap_err();
        let failure = Failure::from(error).with_hint("delete something");
        assert_eq!(failure.to_string(), "failed to write x: no space\nhint: delete something");
    }
}
