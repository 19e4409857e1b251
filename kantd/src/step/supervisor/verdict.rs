//! Why a step ends. Never ends it.

use crate::step::fault::LaunchFault;
use common::job::EndCause;

/// Why the step ends, and what to tell people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub cause: EndCause,
    pub message: Option<String>,
}

impl Verdict {
    pub fn new(cause: EndCause, message: impl Into<Option<String>>) -> Self {
        Self { cause, message: message.into() }
    }

    /// As a launch that failed.
    pub fn launch_failed(fault: LaunchFault) -> Self {
        Self::new(fault.cause, fault.message)
    }
}
