//! How a simulated job behaves once it runs. Never asked before it runs, as in life.

use common::id::NodeName;
use common::job::EndCause;
use common::time::Span;

/// How long everything takes that is not the job itself.
pub const PREPARE: Span = Span::from_seconds(1);

/// How long a stopped step takes to end.
pub const STOP: Span = Span::from_seconds(2);

/// What the processes of a job do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behaviour {
    /// They run so long.
    pub run: Span,
    /// And exit with this code.
    pub exit_code: u8,
    /// Or end for this cause, if not by themselves.
    pub cause: EndCause,
    /// On this node they never start.
    pub fails_on: Option<NodeName>,
    /// This node is too sick to start them.
    pub fault_on: Option<NodeName>,
}

impl Default for Behaviour {
    /// A minute, and success.
    fn default() -> Self {
        Self {
            run: Span::from_minutes(1),
            exit_code: 0,
            cause: EndCause::Exited,
            fails_on: None,
            fault_on: None,
        }
    }
}
