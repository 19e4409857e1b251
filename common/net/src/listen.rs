//! Where the daemons listen: a local socket for users, TLS for daemons, one router for both.
//!
//! Each listener proves who calls before the router sees a request. Nothing here reads a request.

mod connection;
mod places;
mod roaming;
mod stall;
mod tls;
mod unix;

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use tls::TlsListener;
pub use unix::LocalListener;

use crate::caller::Caller;
use connection::Limits;

/// How long a shutdown waits for answers under way; whoever follows a stream is cut off then.
const GRACE: Duration = Duration::from_secs(5);
/// How long to leave a listener alone that cannot accept, mostly for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// Why a daemon cannot listen.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Another process has the socket.
    #[error(
        "failed to listen on {}: another daemon is listening there; stop it first, \
         or give this one another socket",
        path.display()
    )]
    InUse { path: PathBuf },
    /// Something that is not a socket is in the way, and is not ours to remove.
    #[error("failed to listen on {}: a file that is no socket is in the way", path.display())]
    InTheWay { path: PathBuf },
    /// The system does not let us listen on this socket.
    #[error(
        "failed to listen on {}: does its directory exist, and may this user write there?",
        path.display()
    )]
    Socket {
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system does not let us listen on this address.
    #[error("failed to listen on {addr}: is it an address of this host, and is the port free?")]
    Address {
        /// The address, as configured.
        addr: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Serves `router` until `shutdown` completes; then waits at most five seconds for answers that
/// are under way.
pub async fn serve<L>(
    listener: L,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()>
where
    L: Listener<Addr = Caller>,
{
    serve_within(listener, router, shutdown, Limits::default()).await
}

async fn serve_within<L>(
    mut listener: L,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
    limits: Limits,
) -> io::Result<()>
where
    L: Listener<Addr = Caller>,
{
    let mut shutdown = pin!(shutdown);
    let (stop, stopping) = watch::channel(false);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            (io, caller) = listener.accept() => {
                let router = router.clone();
                connections.spawn(connection::serve(io, caller, router, limits, stopping.clone()));
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            () = &mut shutdown => break,
        }
    }
    drop(listener);
    stop.send_replace(true);
    let all_end = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, all_end).await.is_err() {
        tracing::debug!("some answers were still under way when the daemon stopped");
    }
    Ok(())
}

/// axum asks a listener for an address of the type it gives for callers; a listener is no caller.
fn no_address<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "ask the listener itself where it listens"))
}

/// One `accept` failed: pause if that helps, and go on in any case.
async fn survive(error: io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        return;
    }
    tracing::warn!(%error, "failed to accept a connection: are there file descriptors left?");
    tokio::time::sleep(PAUSE).await;
}
