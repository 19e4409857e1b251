//! What to do about a checkpoint that was refused. Never why it was.

use crate::job::Phase;

/// When a job that does not run can say that its work is saved.
pub(super) const fn when(phase: Phase) -> &'static str {
    match phase {
        Phase::Pending => "let its script call `kantctl checkpoint` after each save, once it runs",
        _ => "it is on its way out, and what it saved now need not be told",
    }
}
