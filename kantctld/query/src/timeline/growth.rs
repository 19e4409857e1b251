//! The timeline lines of a growing job.

use super::write_reason;
use common::job::JobSize;
use state::timeline::TimelineEvent;
use std::fmt;

/// Writes the line of an event of growth.
pub(super) fn show(f: &mut fmt::Formatter<'_>, event: &TimelineEvent) -> fmt::Result {
    match event {
        TimelineEvent::Grows { joins } => write!(f, "gets {joins} in addition"),
        TimelineEvent::Grew { tasks, has, joined } => {
            write!(f, "grew to {} on {has}, with {joined}", JobSize::Tasks(*tasks))
        }
        TimelineEvent::DidNotGrow { leaves, why } => {
            write!(f, "continues without {leaves}, which did not join")?;
            write_reason(f, why.as_ref())
        }
        _ => Ok(()),
    }
}
