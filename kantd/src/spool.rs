//! The spool directory: one kantd at a time has it, and it knows which installation it belongs to.
//! Steps live below it; this file never looks at them.

use net::TrustError;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Others may pass through to their step's directory and see nothing else.
const SPOOL_MODE: u32 = 0o711;
const LOCK_FILE: &str = "lock";
const IDENTITY_FILE: &str = "identity";
/// The kernel makes a new random one for every reader (man 4 random).
const RANDOM_UUID: &str = "/proc/sys/kernel/random/uuid";

/// A spool that is ours until this is dropped.
#[derive(Debug)]
pub struct Spool {
    identity: String,
    _lock: File,
}

/// Why a spool cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// Another kantd has it.
    #[error(
        "failed to lock spool {}: another kantd uses it; stop that one first, or give this one \
         another `spool_dir`",
        path.display()
    )]
    InUse { path: PathBuf },
    /// The system does not let us.
    #[error("failed to {verb} {}: may kantd write there, and is there room?", path.display())]
    Io {
        verb: &'static str,
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Others may change what is in it.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The identity file holds something else.
    #[error(
        "failed to understand {}: remove it, and this node gets a new identity",
        path.display()
    )]
    Identity { path: PathBuf },
}

impl Spool {
    /// Takes the spool, making it if need be.
    ///
    /// # Errors
    /// [`SpoolError::InUse`] while another kantd has it; others as the system says.
    pub fn open(path: &Path) -> Result<Self, SpoolError> {
        make(path).map_err(failed("make spool", path))?;
        net::check_trusted("spool_dir", path)?;
        let lock = lock(path)?;
        Ok(Self { identity: identity(path)?, _lock: lock })
    }

    /// Random, made once for this spool: tells two machines with one name apart.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }
}

/// Passable to its end, whatever the umask is.
fn make(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    path.parent().map_or(Ok(()), net::make_passable_dir)?;
    DirBuilder::new().mode(SPOOL_MODE).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(SPOOL_MODE))
}

fn failed<'a>(verb: &'static str, path: &'a Path) -> impl Fn(io::Error) -> SpoolError + 'a {
    move |source| SpoolError::Io { verb, path: path.to_owned(), source }
}

fn lock(spool: &Path) -> Result<File, SpoolError> {
    let path = spool.join(LOCK_FILE);
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    let file = options.open(&path).map_err(failed("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SpoolError::InUse { path: spool.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed("lock", &path)(source)),
    }
}

fn identity(spool: &Path) -> Result<String, SpoolError> {
    let path = spool.join(IDENTITY_FILE);
    match fs::read_to_string(&path) {
        Ok(text) if is_identity(text.trim()) => Ok(text.trim().to_owned()),
        Ok(_) => Err(SpoolError::Identity { path }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_identity(&path),
        Err(error) => Err(failed("read", &path)(error)),
    }
}

fn is_identity(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

fn make_identity(path: &Path) -> Result<String, SpoolError> {
    let random = Path::new(RANDOM_UUID);
    let text = fs::read_to_string(random).map_err(failed("read", random))?;
    write_durably(path, &text).map_err(failed("write", path))?;
    Ok(text.trim().to_owned())
}

/// Writes a small file of the spool: beside, synced and renamed, so that a crash leaves the old one
/// (or none) or the whole new one.
///
/// # Errors
/// As the system says; the old file is then still there.
pub fn write_durably(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), |spool| File::open(spool)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_made_once_and_differs_between_spools() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = Spool::open(&a.path().join("deep/spool")).unwrap().identity().to_owned();
        let again = Spool::open(&a.path().join("deep/spool")).unwrap().identity().to_owned();
        assert_eq!(first, again);
        assert_ne!(first, Spool::open(b.path()).unwrap().identity());
    }

    #[test]
    fn two_daemons_never_share_a_spool() {
        let dir = tempfile::tempdir().unwrap();
        let first = Spool::open(dir.path()).unwrap();
        let error = Spool::open(dir.path()).unwrap_err();
        assert!(matches!(error, SpoolError::InUse { .. }), "{error}");
        assert!(error.to_string().contains("another kantd"), "{error}");
        drop(first);
        Spool::open(dir.path()).unwrap();
    }

    #[test]
    fn a_broken_identity_is_named_and_not_replaced_silently() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(IDENTITY_FILE), "").unwrap();
        let error = Spool::open(dir.path()).unwrap_err();
        assert!(matches!(error, SpoolError::Identity { .. }), "{error}");
    }
}
