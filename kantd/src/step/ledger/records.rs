//! Accounting records of the steps in a ledger, made when the job ends.

use super::{Entry, StepLedger};
use common::job::{STEPS_REPORTED_MAX, StepRecord};
use common::time::Time;

impl StepLedger {
    /// The last steps; those still open are marked as cut off by the end of the job.
    pub fn into_records(mut self, now: Time) -> Vec<StepRecord> {
        let cut_off = |entry: &Entry| entry.view.ended_at.is_none();
        let cut_off: Vec<bool> = self.steps.iter().map(cut_off).collect();
        self.end_all(now);
        let too_many = self.steps.len().saturating_sub(STEPS_REPORTED_MAX);
        let steps = self.steps.iter().zip(cut_off).skip(too_many);
        steps.map(|(entry, cut_off)| StepRecord { cut_off, ..(&entry.view).into() }).collect()
    }
}
