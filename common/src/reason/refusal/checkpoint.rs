//! Advice for a checkpoint that was refused.

use crate::job::Phase;

/// What the user of a job that does not run can do.
pub(super) const fn advice(phase: Phase) -> &'static str {
    match phase {
        Phase::Pending => "call `kantctl checkpoint` in its script, after each checkpoint",
        _ => "it is ending and need not report checkpoints",
    }
}
