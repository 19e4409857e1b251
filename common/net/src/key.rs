//! The cluster key: one secret, the same on every controller, which defines a cluster.
//!
//! The certificate authority is derived from it ([`crate::Authority`]). It is sent only to
//! controllers, and not printed.

use common::hex::{hex, unhex};
use std::fmt;
use std::io;
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::trusted::TrustError;

/// The required beginning of the first line of a key file; the rest of the line is a note to the
/// reader.
pub(crate) const HEADER_START: &str = "kant cluster key v1";
const KEY_BYTES: usize = 32;

/// The secret that the controllers of one cluster share.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterKey([u8; KEY_BYTES]);

/// Why a cluster key could not be generated, read or written.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The operating system returned no random bytes.
    #[error("failed to generate a cluster key: the system returned no random bytes")]
    NoRandomness,
    #[error(
        "failed to read cluster key {}: a controller gets it when it joins (`kantctld join`)",
        path.display()
    )]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Users other than the owner can read or change the file.
    #[error(
        "cluster key {} is accessible to other users (mode {mode:04o}): chmod 600 it, \
         and generate a new one if others may have read it",
        path.display()
    )]
    OpenToOthers { path: PathBuf, mode: u32 },
    /// The file belongs to another user, who can read and change it.
    #[error(
        "cluster key {} belongs to uid {owner}: chown it to the user who runs this daemon",
        path.display()
    )]
    ForeignOwner { path: PathBuf, owner: u32 },
    /// Other users could replace the file.
    #[error(transparent)]
    Way(#[from] TrustError),
    /// The file does not have the format of [`crate::ClusterKeys::create_file`].
    #[error(
        "failed to understand cluster key {}: expected a line `{HEADER_START}` \
         and a line of 64 hex digits; copy the file again from a controller",
        path.display()
    )]
    NotAKey { path: PathBuf },
    #[error("failed to write cluster key {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A key exists; replacing it would disconnect every host of its cluster.
    #[error(
        "cluster key {} already exists and was not changed: move it away first \
         if this is to be a new cluster",
        path.display()
    )]
    Exists { path: PathBuf },
}

impl ClusterKey {
    /// A new random key for a new cluster.
    pub fn generate() -> Result<Self, KeyError> {
        let mut bytes = [0; KEY_BYTES];
        rustls::crypto::ring::default_provider()
            .secure_random
            .fill(&mut bytes)
            .map_err(|_| KeyError::NoRandomness)?;
        Ok(Self(bytes))
    }

    /// For another controller, and for the file.
    pub fn secret(&self) -> String {
        hex(&self.0)
    }

    /// The key of [`Self::secret`].
    pub fn from_secret(secret: &str) -> Option<Self> {
        Some(Self(unhex(secret)?.try_into().ok()?))
    }

    /// Sixteen hexadecimal digits that identify the key without revealing it: safe to print and to
    /// compare between hosts.
    pub fn fingerprint(&self) -> String {
        hex(&self.derive("fingerprint")[..8])
    }

    /// A separate secret for each purpose, which reveals neither the key nor other secrets.
    ///
    /// Both inputs have a fixed form and the key is uniformly random, so one hash is enough.
    pub(crate) fn derive(&self, purpose: &'static str) -> [u8; KEY_BYTES] {
        Sha256::new()
            .chain_update("kant cluster key v1: ")
            .chain_update(purpose)
            .chain_update([0])
            .chain_update(self.0)
            .finalize()
            .into()
    }
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterKey({})", self.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_and_fingerprint_do_not_show_the_secret() {
        let key = ClusterKey::generate().unwrap();
        let secret = hex(&key.0);
        let shown = format!("{key:?}");
        assert!(!shown.contains(&secret[..8]), "{shown}");
        assert_eq!(key.fingerprint(), key.clone().fingerprint());
        assert_ne!(key.fingerprint(), ClusterKey::generate().unwrap().fingerprint());
    }

    #[test]
    fn a_secret_makes_the_same_key_and_other_text_none() {
        let key = ClusterKey::generate().unwrap();
        assert_eq!(ClusterKey::from_secret(&key.secret()), Some(key.clone()));
        for text in ["", "ab", &key.secret()[2..], &format!("{}zz", &key.secret()[2..])] {
            assert_eq!(ClusterKey::from_secret(text), None, "{text}");
        }
    }
}
