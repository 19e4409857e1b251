//! The reason why a step ends.

use crate::step::launch_fault::LaunchFault;
use common::job::EndCause;

/// Why a step ends, and the message for its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndReason {
    pub cause: EndCause,
    pub message: Option<String>,
}

impl EndReason {
    pub fn new(cause: EndCause, message: impl Into<Option<String>>) -> Self {
        Self { cause, message: message.into() }
    }

    pub fn launch_failed(fault: LaunchFault) -> Self {
        Self::new(fault.cause, fault.message)
    }
}
