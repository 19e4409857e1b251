//! What lets one controller in: made by an operator, for a while and for one use. Kept as the hash
//! of the secret: who reads a state or a backup cannot join by it.

use crate::remembered::State;
use common::id::Uid;
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// At most this number may be open at once: no cluster has as many controllers.
pub const OPEN_MAX: usize = 64;
/// No invitation is good for longer.
pub const LASTS_MAX: Span = Span::from_seconds(7 * 86_400);

/// One invitation, by the hash of its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    pub by: Uid,
    /// Good before this time.
    pub until: Time,
    /// The address of the controller that used it; kept until its time is over, so that an answer
    /// that was lost can be given again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<String>,
}

impl State {
    /// An invitation by the hash of its secret; none whose time is over.
    #[must_use]
    pub fn invitation(&self, hash: &str) -> Option<&Invitation> {
        self.invitations.get(hash).filter(|invitation| invitation.until > self.now)
    }

    /// Closes all invitations: for a state that goes on from a backup, after which some were used.
    pub fn close_invitations(&mut self) {
        self.invitations.clear();
    }

    /// All invitations; one that is over stays for up to a minute.
    pub fn invitations(&self) -> impl Iterator<Item = &Invitation> {
        self.invitations.values()
    }
}
