//! The part of a job that a line of squeue or sacct shows: the whole job, its script, or one step.

use super::Line;
use common::job::{StepRecord, Usage};

/// The part of a job that a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinePart<'a> {
    Whole,
    /// The script alone: a `.batch` line of sacct.
    Batch,
    /// One step: `42.0`.
    Step(&'a StepRecord),
}

impl LinePart<'_> {
    /// The suffix of the job id: `.batch`, `.0`.
    pub(super) fn suffix(self) -> String {
        match self {
            Self::Whole => String::new(),
            Self::Batch => ".batch".to_owned(),
            Self::Step(step) => format!(".{}", step.number),
        }
    }
}

/// Slurm's name and code of a step's state.
pub(super) fn state_of(step: &StepRecord) -> (&'static str, &'static str) {
    match (step.ended_at, step.exit) {
        (None, _) => ("RUNNING", "R"),
        _ if step.cut_off => ("CANCELLED", "CA"),
        (_, Some(exit)) if exit.is_success() => ("COMPLETED", "CD"),
        _ => ("FAILED", "F"),
    }
}

impl Line<'_> {
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        matches!(self.part, LinePart::Whole)
    }

    #[must_use]
    pub const fn is_batch(&self) -> bool {
        matches!(self.part, LinePart::Batch)
    }

    /// Whether the line leaves fields empty that the job's own line above it shows.
    #[must_use]
    pub const fn omits_job_fields(&self) -> bool {
        self.page.account && !self.is_whole()
    }

    /// Resource usage; it is not measured per step.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.job.usage.filter(|_| !matches!(self.part, LinePart::Step(_)))
    }

    #[must_use]
    pub const fn tasks(&self) -> u32 {
        match self.part {
            LinePart::Whole => self.job.ask.request.tasks.0,
            LinePart::Batch => 1,
            LinePart::Step(step) => step.tasks,
        }
    }
}
