//! The cluster key: one secret file, the same on every controller, which defines a cluster.
//!
//! The certificate authority is derived from it ([`crate::Authority`]). It is sent only to a
//! controller that an operator invited, and not printed.

use common::hex::{hex, unhex};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::trusted::{TrustError, check_trusted_way};

const HEADER: &str = "kant cluster key v1 (secret: mode 0600, on controllers only)";
/// The required beginning of the first line; the rest of the line is a note to the reader.
const HEADER_START: &str = "kant cluster key v1";
const KEY_BYTES: usize = 32;
/// Far above any real key file, so that a wrong path cannot fill the memory.
const FILE_BYTES_MAX: u64 = 4096;

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
    /// The file does not have the format of [`ClusterKey::save`].
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

    /// Reads a key file; refuses one that users other than its owner can access.
    pub fn load(path: &Path) -> Result<Self, KeyError> {
        let read_error = |source| KeyError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(read_error)?;
        // The open file is checked, not the path, which may lead to another file by now.
        let metadata = file.metadata().map_err(read_error)?;
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeyError::OpenToOthers { path: path.to_owned(), mode });
        }
        let owner = metadata.uid();
        if !may_own(owner, nix::unistd::geteuid().as_raw()) {
            return Err(KeyError::ForeignOwner { path: path.to_owned(), owner });
        }
        check_trusted_way("cluster key", path)?;
        let mut text = String::new();
        match file.take(FILE_BYTES_MAX).read_to_string(&mut text) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => text.clear(),
            Err(error) => return Err(read_error(error)),
        }
        parse(&text).ok_or_else(|| KeyError::NotAKey { path: path.to_owned() })
    }

    /// Writes the key to a new file with mode 0600; an existing file is not changed.
    pub fn save(&self, path: &Path) -> Result<(), KeyError> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(
                |source| match source.kind() {
                    io::ErrorKind::AlreadyExists => KeyError::Exists { path: path.to_owned() },
                    _ => KeyError::Write { path: path.to_owned(), source },
                },
            )?;
        file.write_all(format!("{HEADER}\n{}\n", hex(&self.0)).as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(|source| KeyError::Write { path: path.to_owned(), source })
    }

    /// For a controller that joins.
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

/// On a host with both daemons the key belongs to the controller's user, and kantd reads it as
/// root. The owner of the file controls the cluster in any case.
fn may_own(owner: u32, reader: u32) -> bool {
    owner == 0 || owner == reader || reader == 0
}

fn parse(text: &str) -> Option<ClusterKey> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next()?.starts_with(HEADER_START).then_some(())?;
    let digits = lines.next()?;
    lines.next().is_none().then_some(())?;
    Some(ClusterKey(unhex(digits)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn saved() -> (tempfile::TempDir, PathBuf, ClusterKey) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cluster.key");
        let key = ClusterKey::generate().unwrap();
        key.save(&path).unwrap();
        (dir, path, key)
    }

    #[test]
    fn a_saved_key_reads_back_the_same_and_is_private() {
        let (_dir, path, key) = saved();
        assert_eq!(ClusterKey::load(&path).unwrap(), key);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_read_only_key_is_fine_and_one_open_to_others_is_refused() {
        let (_dir, path, _) = saved();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        ClusterKey::load(&path).unwrap();
        for mode in [0o644, 0o640, 0o604, 0o620, 0o602] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = ClusterKey::load(&path).unwrap_err();
            assert!(matches!(error, KeyError::OpenToOthers { mode: m, .. } if m == mode));
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn root_reads_the_key_that_the_controllers_user_made() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: needs root to give a file away");
            return;
        }
        let (_dir, path, _) = saved();
        std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
        assert!(ClusterKey::load(&path).is_ok(), "root takes the controller's own file");
    }

    #[test]
    fn a_key_must_belong_to_root_or_to_its_reader_but_root_reads_any() {
        assert!(may_own(0, 500) && may_own(500, 500) && may_own(0, 0) && may_own(500, 0));
        assert!(!may_own(501, 500));
    }

    #[test]
    fn saving_never_overwrites_a_key() {
        let (_dir, path, key) = saved();
        let error = ClusterKey::generate().unwrap().save(&path).unwrap_err();
        assert!(matches!(error, KeyError::Exists { .. }), "{error}");
        assert_eq!(ClusterKey::load(&path).unwrap(), key);
    }

    #[test]
    fn a_missing_key_says_where_to_get_one() {
        let error = ClusterKey::load(Path::new("/nonexistent/cluster.key")).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/cluster.key"), "{error}");
        assert!(error.to_string().contains("kantctld join"), "{error}");
    }

    #[test]
    fn broken_key_files_are_refused_without_panic() {
        let (_dir, path, _) = saved();
        let good = fs::read(&path).unwrap();
        let digits = "ab".repeat(32);
        let cases: [Vec<u8>; 7] = [
            Vec::new(),
            b"\xff\xfe\x00".to_vec(),
            good[..good.len() - 2].to_vec(),
            [&good[..], b"more\n"].concat(),
            digits.clone().into_bytes(),
            format!("{HEADER}\n{}zz\n", &digits[2..]).into_bytes(),
            format!("{HEADER}\n{}\u{e4}\n", &digits[2..]).into_bytes(),
        ];
        for case in cases {
            fs::write(&path, &case).unwrap();
            let error = ClusterKey::load(&path).unwrap_err();
            assert!(matches!(error, KeyError::NotAKey { .. }), "{case:?}: {error}");
        }
    }

    #[test]
    fn debug_output_and_fingerprint_do_not_show_the_secret() {
        let (_dir, _, key) = saved();
        let secret = hex(&key.0);
        let shown = format!("{key:?}");
        assert!(!shown.contains(&secret[..8]), "{shown}");
        assert_eq!(key.fingerprint(), key.clone().fingerprint());
        assert_ne!(key.fingerprint(), ClusterKey::generate().unwrap().fingerprint());
    }
}
