//! Shared code of the tests: a cluster key, and servers on loopback that can be stopped. Each test
//! file includes it as a module.
#![allow(dead_code, clippy::unwrap_used)] // each test file uses its part, and fails by panicking

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use net::{ClusterKey, Endpoint, Identity, LocalListener, TlsListener, serve};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The deadline of every wait.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A server that can be stopped.
pub struct Server {
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    /// Stops the server and waits until it is gone.
    pub async fn stop(self) {
        drop(self.stop);
        soon(self.task).await.unwrap().unwrap();
    }
}

/// Fails the test if `future` takes longer than [`PATIENCE`].
pub async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("took too long")
}

pub fn key() -> ClusterKey {
    ClusterKey::generate().unwrap()
}

pub fn controller(key: &ClusterKey) -> Identity {
    Identity::controller(key).unwrap()
}

pub fn node(key: &ClusterKey, name: &str) -> Identity {
    Identity::emulated_node(key, name).unwrap()
}

/// Serves `router` over TLS as `identity`.
pub async fn serve_tls(addr: &str, identity: &Identity, router: Router) -> (Server, SocketAddr) {
    let listener = TlsListener::bind(addr, identity).await.unwrap();
    let addr = listener.local_addr();
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(serve(listener, router, async {
        let _ = stopped.await;
    }));
    (Server { stop, task }, addr)
}

/// Serves `router` on a local socket.
pub fn serve_local(path: &Path, router: Router) -> Server {
    let listener = LocalListener::bind(path).unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(serve(listener, router, async {
        let _ = stopped.await;
    }));
    Server { stop, task }
}

pub fn tls(addr: SocketAddr, identity: &Identity) -> Endpoint {
    Endpoint::Tls { addr: addr.to_string(), identity: identity.clone() }
}

/// A path for a socket, removed with the directory.
pub fn socket() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kant.sock");
    (dir, path)
}
