//! How a simulated job behaves once it runs. The scheduler does not know it.

use common::id::NodeName;
use common::job::EndCause;
use common::time::Span;

/// How long a step takes to prepare before its processes run.
pub const PREPARE: Span = Span::from_seconds(1);

/// How long a stopped step takes to end.
pub const STOP: Span = Span::from_seconds(2);

/// What the processes of a job do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behaviour {
    /// How long they run; `None`: until they are stopped.
    pub run: Option<Span>,
    /// If it is a replica of a service: the time after which its probes succeed; `None`: never.
    pub ready_after: Option<Span>,
    /// Their exit code.
    pub exit_code: u8,
    /// The cause of their end, if they do not end by themselves.
    pub cause: EndCause,
    /// The node on which they fail to start.
    pub fails_on: Option<NodeName>,
    /// The node that has a fault and cannot start them.
    pub fault_on: Option<NodeName>,
}

impl Default for Behaviour {
    /// A minute, and success.
    fn default() -> Self {
        Self {
            run: Some(Span::from_minutes(1)),
            ready_after: None,
            exit_code: 0,
            cause: EndCause::Exited,
            fails_on: None,
            fault_on: None,
        }
    }
}
