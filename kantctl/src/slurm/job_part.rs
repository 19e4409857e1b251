//! What of a job a line of squeue or sacct is about: all of it, its script, or one of its steps.
//! Never what a field shows of it.

use super::job_field::Line;
use common::job::{StepRecord, Usage};

/// What of a job a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    Whole,
    /// Its script, by itself: a `.batch` line of sacct.
    Batch,
    /// A step of it: `42.0`.
    Step(&'a StepRecord),
}

impl Part<'_> {
    /// What follows the job's number.
    pub(super) fn suffix(self) -> String {
        match self {
            Self::Whole => String::new(),
            Self::Batch => ".batch".to_owned(),
            Self::Step(step) => format!(".{}", step.number),
        }
    }
}

/// Slurm's word for a step's state, and its code.
pub(super) fn state_of(step: &StepRecord) -> (&'static str, &'static str) {
    match (step.ended_at, step.exit) {
        (None, _) => ("RUNNING", "R"),
        _ if step.cut_off => ("CANCELLED", "CA"),
        (_, Some(exit)) if exit.is_success() => ("COMPLETED", "CD"),
        _ => ("FAILED", "F"),
    }
}

impl Line<'_> {
    /// Is it about all of the job?
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        matches!(self.part, Part::Whole)
    }

    /// Is it about the job's script, by itself?
    #[must_use]
    pub const fn is_batch(&self) -> bool {
        matches!(self.part, Part::Batch)
    }

    /// Does it leave empty what the job's own line says?
    #[must_use]
    pub const fn is_below(&self) -> bool {
        self.page.account && !self.is_whole()
    }

    /// What it used; a step's is not measured by itself.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.job.usage.filter(|_| !matches!(self.part, Part::Step(_)))
    }

    #[must_use]
    pub const fn tasks(&self) -> u32 {
        match self.part {
            Part::Whole => self.job.ask.request.tasks.0,
            Part::Batch => 1,
            Part::Step(step) => step.tasks,
        }
    }
}
