//! What is left of a book when its job is over. Never asked while the job runs.

use super::{Book, Entry};
use common::job::{STEPS_REPORTED_MAX, StepRecord};
use common::time::Time;

impl Book {
    /// The last steps, for accounting: the job is over, and those that ran were cut off by that.
    pub fn over(mut self, now: Time) -> Vec<StepRecord> {
        let cut_off = |entry: &Entry| entry.view.ended_at.is_none();
        let cut_off: Vec<bool> = self.steps.iter().map(cut_off).collect();
        self.end(now);
        let too_many = self.steps.len().saturating_sub(STEPS_REPORTED_MAX);
        let steps = self.steps.iter().zip(cut_off).skip(too_many);
        steps.map(|(entry, cut_off)| StepRecord { cut_off, ..(&entry.view).into() }).collect()
    }
}
