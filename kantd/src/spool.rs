//! The spool directory: one kantd at a time uses it, and it has the identity of its installation.

use net::TrustError;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Users may traverse it to their step's directory, and list nothing.
const SPOOL_MODE: u32 = 0o711;
const LOCK_FILE: &str = "lock";
const IDENTITY_FILE: &str = "identity";
/// The kernel makes a new random UUID for every reader (man 4 random).
const RANDOM_UUID: &str = "/proc/sys/kernel/random/uuid";

/// A spool, locked until this is dropped.
#[derive(Debug)]
pub struct Spool {
    identity: String,
    _lock: File,
}

/// A spool that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    #[error(
        "failed to lock spool {}: another kantd uses it; stop that one first, or give this one \
         another `spool_dir`",
        path.display()
    )]
    InUse { path: PathBuf },
    #[error(
        "failed to {verb} {}: check kantd's permissions and the free disk space",
        path.display()
    )]
    Io {
        verb: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Other users may change its content.
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error(
        "failed to parse {}: remove it, and this node gets a new identity",
        path.display()
    )]
    Identity { path: PathBuf },
}

impl Spool {
    /// Opens and locks the spool, and makes it if it does not exist.
    ///
    /// # Errors
    /// [`SpoolError::InUse`] while another kantd uses it; the kernel's others.
    pub fn open_and_lock(path: &Path) -> Result<Self, SpoolError> {
        make(path).map_err(failed("make spool", path))?;
        net::check_trusted("spool_dir", path)?;
        let lock = lock(path)?;
        Ok(Self { identity: identity(path)?, _lock: lock })
    }

    /// A random identity, made once for this spool: distinguishes two machines of the same name.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }
}

/// Makes the spool, traversable for users whatever the umask.
///
/// # Errors
/// Those of the kernel.
pub fn make(path: &Path) -> io::Result<()> {
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

/// Writes a small file of the spool durably and atomically: after a crash it has the old content or
/// the new one.
///
/// # Errors
/// The kernel's; the old file then still exists.
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
        let first =
            Spool::open_and_lock(&a.path().join("deep/spool")).unwrap().identity().to_owned();
        let again =
            Spool::open_and_lock(&a.path().join("deep/spool")).unwrap().identity().to_owned();
        assert_eq!(first, again);
        assert_ne!(first, Spool::open_and_lock(b.path()).unwrap().identity());
    }

    #[test]
    fn two_daemons_never_share_a_spool() {
        let dir = tempfile::tempdir().unwrap();
        let first = Spool::open_and_lock(dir.path()).unwrap();
        let error = Spool::open_and_lock(dir.path()).unwrap_err();
        assert!(matches!(error, SpoolError::InUse { .. }), "{error}");
        assert!(error.to_string().contains("another kantd"), "{error}");
        drop(first);
        Spool::open_and_lock(dir.path()).unwrap();
    }

    #[test]
    fn a_broken_identity_is_named_and_not_replaced_silently() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(IDENTITY_FILE), "").unwrap();
        let error = Spool::open_and_lock(dir.path()).unwrap_err();
        assert!(matches!(error, SpoolError::Identity { .. }), "{error}");
    }
}
