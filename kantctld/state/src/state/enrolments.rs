//! Reading enrolments, and the check of a node's certificate.

use super::State;
use crate::enrolment::{Enrolment, Invalid};
use crate::key_rotation::KeyStatus;
use common::id::{AttemptId, NodeName, Uid};

impl State {
    /// Checks a node's certificate by the number of its enrolment. A number that the state does not
    /// know is valid: only controllers issue certificates, and a state restored from a backup does
    /// not know the latest.
    ///
    /// # Errors
    /// [`Invalid`].
    pub fn check_certificate(&self, name: &NodeName, number: u32) -> Result<(), Invalid> {
        let Some(enrolment) = self.enrolments.get(name) else { return Ok(()) };
        match enrolment.revoked {
            // Also a later number, which a restored state does not know.
            Some(revoked) => Err(Invalid::Revoked(revoked)),
            None if number < enrolment.number => Err(Invalid::Superseded(enrolment.number)),
            None => Ok(()),
        }
    }

    /// Whether a node with a certificate of this enrolment may renew it. The state must know the
    /// enrolment, unless it was restored from a backup.
    #[must_use]
    pub fn may_renew(&self, name: &NodeName, number: u32) -> bool {
        let known = self.enrolments.get(name).map(|known| known.number);
        known == Some(number) || self.enrolment_floor > 0
    }

    /// The number of the next enrolment of this node.
    #[must_use]
    pub(crate) fn next_enrolment(&self, name: &NodeName) -> u32 {
        let known = self.enrolments.get(name).map_or(0, |known| known.number);
        known.max(self.enrolment_floor) + 1
    }

    /// Whether a job of this user has a share of the node, or had one that is not free yet.
    #[must_use]
    pub fn has_job_on(&self, node: &NodeName, uid: Uid) -> bool {
        let is_theirs =
            |id: AttemptId| self.job(id.key.job).is_some_and(|job| job.spec.owner.uid == uid);
        self.ledger.holders(node).any(is_theirs)
    }

    #[must_use]
    pub fn enrolment(&self, name: &NodeName) -> Option<&Enrolment> {
        self.enrolments.get(name)
    }

    /// The authority of the cluster, and its replacement.
    #[must_use]
    pub const fn key_status(&self) -> &KeyStatus {
        &self.keys
    }

    /// By name.
    pub fn enrolments(&self) -> impl Iterator<Item = (&NodeName, &Enrolment)> {
        self.enrolments.iter()
    }
}
