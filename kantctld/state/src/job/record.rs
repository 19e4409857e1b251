//! What the elements of a submission share.

use super::{Elements, Record};
use common::id::{ArrayIndex, JobId, JobKey};

impl Record {
    /// The number of an element (SLURM_JOB_ID). A task has one of its own after the array's; `None`
    /// for tasks without one.
    #[must_use]
    pub fn number(&self, index: Option<ArrayIndex>) -> Option<JobId> {
        let Some(index) = index else { return Some(self.id) };
        let place = self.spec.ask.array.as_ref()?.place_of(index)?;
        let number = self.id.0.checked_add(1 + place)?;
        (place < self.numbers).then_some(JobId(number))
    }

    /// A copy of what the elements share.
    #[must_use]
    pub fn without_elements(&self) -> Self {
        Self {
            id: self.id,
            numbers: self.numbers,
            set: self.set,
            spec: self.spec.clone(),
            groups: self.groups.clone(),
            via: self.via.clone(),
            submitted_at: self.submitted_at,
            expected: self.expected,
            standing: self.standing.clone(),
            timeline: self.timeline.clone(),
            elements: Elements::default(),
        }
    }

    #[must_use]
    pub const fn key(&self, index: Option<ArrayIndex>) -> JobKey {
        JobKey { job: self.id, index }
    }
}
