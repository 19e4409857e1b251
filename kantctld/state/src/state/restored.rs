//! Changes to a state that is restored from a backup, after which the cluster went on.

use super::State;
use crate::key_rotation::KeyStatus;
use common::id::JobId;

impl State {
    /// Skips this number of job ids, which are then never given. For a state restored from a
    /// backup, after which other jobs got them. Returns false and changes nothing if there are not
    /// enough ids left.
    #[must_use]
    pub fn skip_jobs(&mut self, count: u32) -> bool {
        match self.last_job.0.checked_add(count) {
            Some(last) => {
                self.last_job = JobId(last);
                true
            }
            None => false,
        }
    }

    /// Removes all invitations. For a state restored from a backup, after which some may have been
    /// used.
    pub fn close_invitations(&mut self) {
        self.invitations.clear();
    }

    /// Makes sure that no number of an enrolment is given a second time. For a state restored from
    /// a backup, after which nodes may have been enrolled.
    pub fn skip_enrolments(&mut self, count: u32) {
        self.enrolment_floor = self.enrolment_floor.saturating_add(count);
    }

    /// Ends a replacement of the cluster key, and makes sure that no generation is used again. For
    /// a state restored from a backup: the restored controller's file has the key of the cluster.
    pub fn end_key_rotation(&mut self, skipped: u32) {
        let generation = self.keys.generation.saturating_add(skipped);
        self.keys = KeyStatus { generation, ..KeyStatus::default() };
    }
}
