//! The credentials of a node: its private key, its certificate, and the authorities that it trusts.
//! They are in a file of the node's spool, which only root can read, and in no log.

use common::hex::{hex, unhex};
use common::id::NodeName;
use common::time::Time;
use common::wire::api::IssuedCertificate;
use rustls::pki_types::CertificateDer;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

use crate::authority::{Authority, new_key};
use crate::private_file::write_private;
use crate::role::{IdentityError, Role};
use crate::trusted::{TrustError, check_trusted};

/// The file in a node's spool.
const FILE: &str = "credentials.toml";
/// The private key of a node that has asked for its first certificate.
pub(crate) const JOIN_KEY_FILE: &str = "join-key";
const HEADER: &str =
    "# The private key and the certificate of this node. Secret: only root may read it.\n";
/// Far above any real file, so that a wrong path cannot fill the memory.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// What makes a node this node to the controllers.
#[derive(Clone)]
pub struct Credentials {
    pub name: NodeName,
    pub enrolment: u32,
    /// When the certificate was issued, and when it ends. By the controllers' clock.
    pub issued: Time,
    pub until: Time,
    /// The step of the replacements of the cluster key in which it was issued.
    pub generation: u32,
    /// PKCS#8.
    pub(crate) key: Vec<u8>,
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) authorities: Vec<CertificateDer<'static>>,
}

/// Why credentials could not be read or written.
#[derive(Debug, Error)]
pub enum CredentialsError {
    #[error("there is no {}", path.display())]
    Missing { path: PathBuf },
    #[error("failed to {verb} {}", path.display())]
    Io {
        verb: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to understand {}: remove it, and enrol this node again", path.display())]
    Unreadable { path: PathBuf },
    #[error(
        "{} is accessible to other users (mode {mode:04o}): revoke this node \
         (`kantctl admin node revoke`), and enrol it again", path.display()
    )]
    OpenToOthers { path: PathBuf, mode: u32 },
    /// Other users could replace the file.
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error("failed to understand the certificate that the controller sent")]
    Answer,
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

#[derive(Serialize, Deserialize)]
struct Stored {
    key: String,
    #[serde(flatten)]
    issued: IssuedCertificate,
}

impl Credentials {
    /// Made by the holder of the authority's key, for a node that is not asked.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn issued_by(authority: &Authority, name: NodeName) -> Result<Self, IdentityError> {
        let (key, public) = new_key()?;
        let enrolment = 1;
        let role = Role::Node { name: name.to_string(), enrolment };
        let certificate = authority.issue(&role, &public, None)?;
        Ok(Self {
            name,
            enrolment,
            issued: Time(0),
            until: Time(u64::MAX),
            generation: 0,
            key,
            certificate,
            authorities: vec![authority.certificate().clone()],
        })
    }

    pub(crate) fn role(&self) -> Role {
        Role::Node { name: self.name.to_string(), enrolment: self.enrolment }
    }

    /// Whether to ask for a new certificate: half of the lifetime is over. A clock that shows a
    /// time before the issue is wrong, and then this cannot be known.
    #[must_use]
    pub fn is_due_for_renewal(&self, now: Time) -> bool {
        let half = self.until.since(self.issued).0 / 2;
        now < self.issued || now.since(self.issued).0 >= half
    }

    /// The path of the credentials in this spool.
    #[must_use]
    pub fn file_path(spool: &Path) -> PathBuf {
        spool.join(FILE)
    }

    /// Reads the credentials in a spool; refuses a file that other users can access.
    ///
    /// # Errors
    /// [`CredentialsError`].
    pub fn load(spool: &Path) -> Result<Self, CredentialsError> {
        let path = Self::file_path(spool);
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => CredentialsError::Missing { path: path.clone() },
            _ => CredentialsError::Io { verb: "read", path: path.clone(), source },
        };
        let mut text = String::new();
        let file = File::open(&path).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(CredentialsError::OpenToOthers { path, mode });
        }
        check_trusted("credentials", &path)?;
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
        let unreadable = || CredentialsError::Unreadable { path: path.clone() };
        let Stored { key, issued } = toml::from_str(&text).map_err(|_| unreadable())?;
        let key = unhex(&key).ok_or_else(unreadable)?;
        Self::from_parts(key, &issued).ok_or_else(unreadable)
    }

    /// Writes the credentials into a spool, in place of those that are there and of the key of a
    /// join. They are on disk when this returns.
    ///
    /// # Errors
    /// [`CredentialsError::Io`].
    pub fn save(&self, spool: &Path) -> Result<(), CredentialsError> {
        let path = Self::file_path(spool);
        let stored = Stored { key: hex(&self.key), issued: self.issued_certificate() };
        let text = toml::to_string(&stored).map_err(io::Error::other);
        text.and_then(|text| write_private(spool, &path, &format!("{HEADER}{text}")))
            .map_err(|source| CredentialsError::Io { verb: "write", path, source })?;
        // It is of no use any more, and a later join generates another.
        let _ = fs::remove_file(spool.join(JOIN_KEY_FILE));
        Ok(())
    }

    pub(crate) fn from_parts(key: Vec<u8>, issued: &IssuedCertificate) -> Option<Self> {
        let certificate = |text: &String| unhex(text).map(CertificateDer::from);
        Some(Self {
            name: issued.name.clone(),
            enrolment: issued.enrolment,
            issued: issued.issued,
            until: issued.until,
            generation: issued.generation,
            key,
            certificate: certificate(&issued.certificate)?,
            authorities: issued.authorities.iter().map(certificate).collect::<Option<_>>()?,
        })
    }

    fn issued_certificate(&self) -> IssuedCertificate {
        IssuedCertificate {
            name: self.name.clone(),
            enrolment: self.enrolment,
            issued: self.issued,
            until: self.until,
            generation: self.generation,
            certificate: hex(&self.certificate),
            authorities: self.authorities.iter().map(|one| hex(one)).collect(),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({}, enrolment {})", self.name, self.enrolment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::ClusterKey;

    fn credentials() -> Credentials {
        let authority = Authority::new(&ClusterKey::generate().unwrap()).unwrap();
        let (issued, until) = (Time(100), Time(300));
        let made = Credentials::issued_by(&authority, NodeName::new("g1").unwrap()).unwrap();
        Credentials { issued, until, ..made }
    }

    #[test]
    fn credentials_read_back_and_are_private() {
        let spool = tempfile::tempdir().unwrap();
        let saved = credentials();
        saved.save(spool.path()).unwrap();
        saved.save(spool.path()).unwrap();
        let read = Credentials::load(spool.path()).unwrap();
        assert_eq!((read.key, read.certificate), (saved.key, saved.certificate));
        let mode = fs::metadata(Credentials::file_path(spool.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn damaged_missing_and_open_files_are_refused() {
        let spool = tempfile::tempdir().unwrap();
        let missing = Credentials::load(spool.path()).unwrap_err();
        assert!(matches!(missing, CredentialsError::Missing { .. }), "{missing}");
        credentials().save(spool.path()).unwrap();
        let file = Credentials::file_path(spool.path());
        let good = fs::read_to_string(&file).unwrap();
        for text in ["", "key = 1", &good[..good.len() / 2], &good.replace("key = \"", "key = \"x")]
        {
            fs::write(&file, text).unwrap();
            let error = Credentials::load(spool.path()).unwrap_err();
            assert!(matches!(error, CredentialsError::Unreadable { .. }), "{text}: {error}");
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = Credentials::load(spool.path()).unwrap_err();
        assert!(matches!(error, CredentialsError::OpenToOthers { .. }), "{error}");
    }

    #[test]
    fn a_certificate_is_renewed_at_half_of_its_life_or_if_the_clock_is_wrong() {
        let credentials = credentials();
        let due = |now| credentials.is_due_for_renewal(Time(now));
        assert!(!due(100) && !due(199));
        assert!(due(200) && due(1000) && due(50));
    }
}
