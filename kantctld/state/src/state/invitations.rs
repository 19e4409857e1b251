//! Reading invitations.

use super::State;
use crate::invitation::Invitation;

impl State {
    /// The invitation with this hash of the secret; `None` if it has expired.
    #[must_use]
    pub fn invitation(&self, hash: &str) -> Option<&Invitation> {
        self.invitations.get(hash).filter(|invitation| invitation.until > self.now)
    }

    /// All invitations by the hashes of their secrets. An expired one may remain for up to a
    /// minute.
    pub fn invitations(&self) -> impl Iterator<Item = (&str, &Invitation)> {
        self.invitations.iter().map(|(hash, invitation)| (hash.as_str(), invitation))
    }
}
