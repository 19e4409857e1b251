//! What a letter is written about, in a word for its subject. Never decides that it is written.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    Began,
    Ended,
    /// It is over, and failed.
    Failed,
    Requeued,
    /// What it waits for cannot come any more.
    Never,
    /// So many percent of its time are up.
    Part(u8),
    TimeUp,
}

/// As Slurm's subjects have it, which users' filters look for.
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
