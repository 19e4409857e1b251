//! Why a verb failed, and the exit code that says whose turn it is. Never exits; main does.

use net::ClientError;
use std::fmt;

pub const OK: u8 = 0;

/// What failed, for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The controller said no, or something on this side did not work: exit code 1.
    Refused,
    /// The command line does not make sense: exit code 2.
    Usage,
    /// The controller cannot be reached: exit code 3.
    Unreachable,
    /// Nobody reads stdout any more (`kantctl queue | head`): nothing is said, and the exit code
    /// is what a shell shows of SIGPIPE.
    ReaderGone,
}

impl Kind {
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Refused => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::ReaderGone => 141,
        }
    }
}

/// A failure with its cause chain and, where known, what to do next.
#[derive(Debug)]
pub struct Failure {
    /// For the exit code.
    pub kind: Kind,
    /// What failed and why.
    pub error: anyhow::Error,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    pub fn new(kind: Kind, error: impl Into<anyhow::Error>) -> Self {
        Self { kind, error: error.into(), hint: None }
    }

    /// The controller, or something on this side, said no.
    pub fn refused(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Kind::Refused, error)
    }

    /// The command line does not make sense.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Kind::Usage, error)
    }

    /// A refusal in these words.
    #[must_use]
    pub fn message(text: String) -> Self {
        Self::refused(anyhow::Error::msg(text))
    }

    /// Is it that a node, not the controller, is out of contact?
    #[must_use]
    pub fn is_silent_node(&self) -> bool {
        self.error.downcast_ref().is_some_and(says_silent_node)
    }

    /// For programs: a stable word (the controller's, or the kind of failure), what failed, and
    /// what to do next where that is known.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let kind = match self.kind {
            Kind::Refused | Kind::ReaderGone => "failed",
            Kind::Usage => "usage",
            Kind::Unreachable => "unreachable",
        };
        let (code, message) = (self.code().unwrap_or(kind), self.chain());
        serde_json::json!({ "code": code, "message": message, "hint": self.hint })
    }

    /// The controller's word for it, if it is one of its refusals.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self.error.downcast_ref() {
            Some(ClientError::Refused { error, .. }) => Some(error.code.as_str()),
            _ => None,
        }
    }

    /// The whole chain of causes in one line.
    fn chain(&self) -> String {
        let mut shown: Vec<String> = Vec::new();
        for cause in self.error.chain() {
            let text = cause.to_string();
            // A message that already tells its cause is not told twice.
            if !shown.last().is_some_and(|last| last.contains(&text)) {
                shown.push(text);
            }
        }
        shown.join(": ")
    }

    /// The same with a hint what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Did the controller answer that a node is silent? No absence of the controller, though a 502 too.
#[must_use]
pub fn says_silent_node(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { error, .. } if error.code == "node_silent")
}

/// The codes of such answers.
const NOTHING_DONE: [&str; 4] =
    ["no-leader", "controller-unreachable", "too_many_requests", "too_many_connections"];

/// Did a daemon answer that nobody was there to do it: that no controller leads, that the one it
/// would pass this on to cannot be reached, or that it has too much else to do for the same user?
#[must_use]
pub fn says_nothing_done(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::Refused { error, .. }
            if NOTHING_DONE.contains(&error.code.as_str())
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
            ClientError::Refused { error: told, .. } if says_silent_node(&error) => {
                (Kind::Refused, told.hint.clone())
            }
            // A daemon in between, or a controller that leads nothing.
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

/// The whole chain of causes in one line, and the hint in a second.
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
    fn causes_are_told_once_and_the_hint_last() {
        let error = std::io::Error::other("no space");
        let error = Err::<(), _>(error).context("failed to write x: no space").unwrap_err();
        let failure = Failure::from(error).hint("delete something");
        assert_eq!(failure.to_string(), "failed to write x: no space\nhint: delete something");
    }
}
