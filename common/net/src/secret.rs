//! Secrets by which a stranger proves a right: the invitation of a host and the token of a program.
//! Each is random, shown once, and stored only as a hash.

use common::hex::hex;
use common::token::TOKEN_PREFIX;
use sha2::{Digest, Sha256};

use crate::key::KeyError;

const TOKEN_BYTES: usize = 32;

/// A new secret for a program.
///
/// # Errors
/// [`KeyError::NoRandomness`].
pub fn new_token() -> Result<String, KeyError> {
    random::<TOKEN_BYTES>(TOKEN_PREFIX)
}

/// This many random bytes in hex, after a prefix.
pub(crate) fn random<const BYTES: usize>(prefix: &str) -> Result<String, KeyError> {
    let mut bytes = [0; BYTES];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| KeyError::NoRandomness)?;
    Ok(format!("{prefix}{}", hex(&bytes)))
}

/// The stored form of a secret. A secret has so much randomness that a plain hash cannot be
/// reversed.
#[must_use]
pub fn secret_hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.trim().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_a_hash_gives_none_away() {
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert_eq!(secret_hash(&one), secret_hash(&format!("{one}\n")));
        assert!(secret_hash(&one) != secret_hash(&other));
        assert_eq!(secret_hash(&one).len(), 64);
        let token = new_token().unwrap();
        assert_eq!(token.len(), TOKEN_PREFIX.len() + 2 * TOKEN_BYTES);
        assert_ne!(token, new_token().unwrap());
    }
}
