//! The secret by which one more controller, or a node, joins a cluster. It is random, shown once,
//! and stored only as a hash. With it comes the fingerprint of the cluster's authority, so that the
//! host that joins knows to which cluster it speaks.

use std::fmt;
use std::str::FromStr;

use crate::key::KeyError;
use crate::secret::{random, secret_hash};

const SECRET_BYTES: usize = 20;
/// Makes an invitation recognizable.
const PREFIX: &str = "kant-invitation-";

/// What an operator gives to a host that is to join: `kant-invitation-SECRET-AUTHORITY`.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    pub secret: String,
    /// The fingerprint of the cluster's authority ([`crate::Authority::fingerprint`]).
    pub authority: String,
}

/// A text that is no invitation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not an invitation: it reads `{PREFIX}` and two numbers, and is printed by \
     `kantctl admin node invite` or `kantctl admin controller invite` on one line"
)]
pub struct NotAnInvitation;

impl Invitation {
    /// A new secret, for hosts that should trust this authority.
    ///
    /// # Errors
    /// [`KeyError::NoRandomness`].
    pub fn new(authority: String) -> Result<Self, KeyError> {
        Ok(Self { secret: random::<SECRET_BYTES>("")?, authority })
    }

    /// The stored form of the secret.
    #[must_use]
    pub fn hash(&self) -> String {
        secret_hash(&self.secret)
    }
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}-{}", self.secret, self.authority)
    }
}

impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invitation(authority {})", self.authority)
    }
}

impl FromStr for Invitation {
    type Err = NotAnInvitation;

    fn from_str(text: &str) -> Result<Self, NotAnInvitation> {
        let rest = text.trim().strip_prefix(PREFIX).ok_or(NotAnInvitation)?;
        let (secret, authority) = rest.split_once('-').ok_or(NotAnInvitation)?;
        let is_hex = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_hex(secret) || !is_hex(authority) {
            return Err(NotAnInvitation);
        }
        Ok(Self { secret: secret.to_owned(), authority: authority.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_neither_a_hash_nor_debug_output_gives_one_away() {
        let new = || Invitation::new("ab".repeat(16)).unwrap();
        let (one, other) = (new(), new());
        assert_ne!(one, other);
        assert_eq!(one.secret.len(), 2 * SECRET_BYTES);
        assert!(one.hash() != other.hash() && one.hash().len() == 64);
        assert!(!one.hash().contains(&one.secret[..8]));
        assert!(!format!("{one:?}").contains(&one.secret[..8]));
    }

    #[test]
    fn an_invitation_reads_back_and_other_text_is_refused() {
        let one = Invitation::new("ab".repeat(16)).unwrap();
        assert_eq!(format!(" {one}\n").parse(), Ok(one.clone()));
        for text in ["", "kant-invitation-", "kant-invitation-ab", "kant-invitation-ab-x", "ab-cd"]
        {
            assert_eq!(text.parse::<Invitation>(), Err(NotAnInvitation), "{text}");
        }
    }
}
