//! A key for which a node asks for a certificate.

use common::hex::{hex, unhex};
use common::wire::api::IssuedCertificate;
use std::fs;
use std::path::Path;

use crate::authority::{PublicKey, new_key, public_key_of};
use crate::credentials::{Credentials, CredentialsError, JOIN_KEY_FILE};
use crate::private_file::write_private;
use crate::role::IdentityError;

/// A key without a certificate, for a request for one.
pub struct NewKey {
    private: Vec<u8>,
    public: PublicKey,
}

impl NewKey {
    /// # Errors
    /// [`IdentityError::Key`]: the operating system returned no random bytes.
    pub fn generate() -> Result<Self, IdentityError> {
        let (private, public) = new_key()?;
        Ok(Self { private, public })
    }

    /// The key of a node that joins. It stays in the spool until there is a certificate for it:
    /// if the answer to a request is lost, a request with the same key gets it again.
    ///
    /// # Errors
    /// [`CredentialsError`].
    pub fn load_or_generate(spool: &Path) -> Result<Self, CredentialsError> {
        let path = spool.join(JOIN_KEY_FILE);
        let kept = fs::read_to_string(&path).ok().and_then(|text| unhex(text.trim()));
        let kept = kept.and_then(|private| Some((public_key_of(&private)?, private)));
        if let Some((public, private)) = kept {
            return Ok(Self { private, public });
        }
        let key = Self::generate()?;
        write_private(spool, &path, &hex(&key.private)).map_err(|source| CredentialsError::Io {
            verb: "write",
            path,
            source,
        })?;
        Ok(key)
    }

    /// The public key in hex.
    #[must_use]
    pub fn public_hex(&self) -> String {
        hex(&self.public)
    }

    /// The credentials that this key and its certificate make.
    ///
    /// # Errors
    /// [`CredentialsError::Answer`] if the certificate is not one.
    pub fn into_credentials(
        self,
        issued: &IssuedCertificate,
    ) -> Result<Credentials, CredentialsError> {
        Credentials::from_parts(self.private, issued).ok_or(CredentialsError::Answer)
    }
}

/// A public key as a node sends it: 64 hex digits.
#[must_use]
pub fn parse_public_key(text: &str) -> Option<PublicKey> {
    unhex(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorities::Authorities;
    use crate::cluster_keys::ClusterKeys;
    use crate::key::ClusterKey;
    use common::id::NodeName;
    use common::time::Time;

    fn credentials() -> Credentials {
        let keys = ClusterKeys::new(ClusterKey::generate().unwrap());
        let authorities = Authorities::new(&keys).unwrap();
        let key = NewKey::generate().unwrap();
        let public = parse_public_key(&key.public_hex()).unwrap();
        let node = (&NodeName::new("g1").unwrap(), 2);
        let issued = authorities.issue(node, &public, (Time(100), Time(300))).unwrap();
        key.into_credentials(&issued).unwrap()
    }

    #[test]
    fn a_key_and_its_certificate_make_credentials() {
        let credentials = credentials();
        assert_eq!((credentials.name.as_str(), credentials.enrolment), ("g1", 2));
        crate::identity::Identity::node(&credentials).unwrap();
    }

    #[test]
    fn the_key_of_a_join_is_kept_until_there_are_credentials() {
        let spool = tempfile::tempdir().unwrap();
        let join = || NewKey::load_or_generate(spool.path()).unwrap().public_hex();
        let first = join();
        assert_eq!(join(), first);
        credentials().save(spool.path()).unwrap();
        let second = join();
        assert_ne!(second, first);
        fs::write(spool.path().join(JOIN_KEY_FILE), "00").unwrap();
        assert!(![first, second].contains(&join()), "a damaged one is replaced");
    }
}
