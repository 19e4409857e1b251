//! The secret by which one more controller joins a cluster: drawn by the system's generator, shown
//! once, and known afterwards by its hash alone.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::key::KeyError;

const SECRET_BYTES: usize = 20;
/// Tells a secret that lies about apart from other words.
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

/// What a cluster keeps of a secret.
#[must_use]
pub fn invitation_hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.trim().as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
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
