//! The local socket: any user on this host may connect, and the kernel identifies the user.
//!
//! A lock file next to the socket decides which daemon owns it, so that two daemons that start at
//! the same time do not take it from each other.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::serve::Listener;
use tokio::net::UnixListener;

use super::connection_limits::{LocalStream, limiter, refusal_response};
use super::{ListenError, no_address_error, pause_after_accept_error};
use crate::caller::Caller;
use crate::limiter::Limiter;

const ROOT: u32 = 0;
/// Any user may connect; permissions depend on the user.
const SOCKET_MODE: u32 = 0o666;

/// A unix socket that identifies its callers. Its file is removed when it is dropped.
#[derive(Debug)]
pub struct LocalListener {
    listener: UnixListener,
    path: PathBuf,
    inode: u64,
    limiter: Arc<Limiter>,
    /// Held while we listen. The file itself stays: removing it would let a third daemon lock a new
    /// file while a second one waits for the old.
    _lock: File,
}

impl LocalListener {
    /// Listens at `path`, and replaces a socket that no process listens on.
    ///
    /// Must be called inside a tokio runtime.
    pub fn bind(path: &Path) -> Result<Self, ListenError> {
        let lock = lock(path)?;
        remove_stale(path)?;
        let failed = |source| ListenError::Socket { path: path.to_owned(), source };
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(SOCKET_MODE)).map_err(failed)?;
        let inode = fs::symlink_metadata(path).map_err(failed)?.ino();
        let own = nix::unistd::geteuid().as_raw();
        let limiter = limiter(Arc::new(move |uid| uid == ROOT || uid == own));
        Ok(Self { listener, path: path.to_owned(), inode, limiter, _lock: lock })
    }

    /// Reserves connections for these users as well: a quarter of all are reserved for root, for
    /// the user of this process, and for daemons.
    pub fn with_trusted_users(
        mut self,
        is_trusted: impl Fn(u32) -> bool + Send + Sync + 'static,
    ) -> Self {
        let own = nix::unistd::geteuid().as_raw();
        self.limiter = limiter(Arc::new(move |uid| uid == ROOT || uid == own || is_trusted(uid)));
        self
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LocalListener {
    fn drop(&mut self) {
        // An operator may have replaced the socket by hand: the new one is not ours.
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|m| m.ino() == self.inode);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "failed to remove the socket");
        }
    }
}

impl Listener for LocalListener {
    type Io = LocalStream;
    type Addr = Caller;

    async fn accept(&mut self) -> (LocalStream, Caller) {
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    pause_after_accept_error(error).await;
                    continue;
                }
            };
            match stream.peer_cred() {
                Ok(peer) => {
                    let caller =
                        Caller::Local { uid: peer.uid(), gid: peer.gid(), pid: peer.pid() };
                    match self.limiter.take(peer.uid()) {
                        Ok(permit) => return (LocalStream::new(stream, permit), caller),
                        // If it does not fit into the empty buffer, it is not worth waiting.
                        Err(refusal) => {
                            drop(stream.try_write(refusal_response(refusal).as_bytes()))
                        }
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "failed to identify the caller: closed the connection")
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Caller> {
        no_address_error()
    }
}

fn lock(path: &Path) -> Result<File, ListenError> {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let failed = |source| ListenError::Socket { path: path.to_owned(), source };
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(lock_path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ListenError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

fn remove_stale(path: &Path) -> Result<(), ListenError> {
    let failed = |source| ListenError::Socket { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(ListenError::InTheWay { path: path.to_owned() });
        }
        Ok(_) => {}
    }
    // Another process may listen without using the lock.
    match Probe::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)
        }
        _ => Err(ListenError::InUse { path: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_socket_is_open_to_all_and_goes_with_its_listener() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kant.sock");
        let listener = LocalListener::bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
        drop(listener);
        assert!(!path.exists());
        LocalListener::bind(&path).unwrap();
    }

    #[tokio::test]
    async fn a_socket_left_by_a_crash_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kant.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "std leaves the file behind");
        LocalListener::bind(&path).unwrap();
    }

    #[tokio::test]
    async fn a_socket_with_a_listener_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ours.sock");
        let _first = LocalListener::bind(&path).unwrap();
        let error = LocalListener::bind(&path).unwrap_err();
        assert!(matches!(error, ListenError::InUse { .. }), "{error}");

        let path = dir.path().join("foreign.sock");
        let _foreign = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let error = LocalListener::bind(&path).unwrap_err();
        assert!(matches!(error, ListenError::InUse { .. }), "{error}");
        assert!(path.exists());
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("precious.txt");
        fs::write(&path, "precious").unwrap();
        let error = LocalListener::bind(&path).unwrap_err();
        assert!(matches!(error, ListenError::InTheWay { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[tokio::test]
    async fn a_missing_directory_is_named() {
        let error = LocalListener::bind(Path::new("/nonexistent/kant.sock")).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/kant.sock"), "{error}");
    }
}
