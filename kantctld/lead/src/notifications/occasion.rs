//! The occasions for a message, as in its subject.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    Began,
    Ended,
    /// Ended with a failure.
    Failed,
    Requeued,
    /// The dependency can no longer be met.
    Never,
    /// This percentage of the time limit is used.
    Part(u8),
    TimeUp,
}

/// As in Slurm's subjects, for which users have filters.
impl fmt::Display for Occasion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began => f.pad("Began"),
            Self::Ended => f.pad("Ended"),
            Self::Failed => f.pad("Failed"),
            Self::Requeued => f.pad("Requeued"),
            Self::Never => f.pad("Invalid dependency"),
            Self::Part(percent) => write!(f, "Reached {percent}% of time limit"),
            Self::TimeUp => f.pad("Reached time limit"),
        }
    }
}
