//! The secret by which one more controller joins a cluster. It is random, shown once, and stored
//! only as a hash.

use common::hex::hex;
use sha2::{Digest, Sha256};

use crate::key::KeyError;

const SECRET_BYTES: usize = 20;
/// Makes a secret recognizable.
const PREFIX: &str = "kant-invitation-";

/// A new secret.
///
/// # Errors
/// [`KeyError::NoRandomness`].
pub fn new_invitation() -> Result<String, KeyError> {
    let mut bytes = [0; SECRET_BYTES];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| KeyError::NoRandomness)?;
    Ok(format!("{PREFIX}{}", hex(&bytes)))
}

/// The stored form of a secret.
#[must_use]
pub fn invitation_hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.trim().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_a_hash_gives_none_away() {
        let (one, other) = (new_invitation().unwrap(), new_invitation().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), PREFIX.len() + 2 * SECRET_BYTES);
        assert_eq!(invitation_hash(&one), invitation_hash(&format!("{one}\n")));
        assert!(invitation_hash(&one) != invitation_hash(&other));
        assert_eq!(invitation_hash(&one).len(), 64);
    }
}
