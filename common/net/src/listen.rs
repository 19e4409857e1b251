//! The listeners of the daemons: a local socket for users, TLS for daemons, HTTP for programs and
//! browsers.
//!
//! A local socket and TLS authenticate the caller before the router receives a request. Over HTTP
//! the router does, by the token of each request.

mod connection;
mod connection_limits;
mod http;
mod migrating;
mod strangers;
mod tls;
mod trusted_stream;
mod unix;
mod write_timeout;

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use http::{HttpListener, PemFiles};
pub use tls::TlsListener;
pub use unix::LocalListener;

use crate::caller::Caller;
use crate::revocations::Revocations;
use connection::Limits;
use strangers::UncertifiedConnections;

/// The time that a shutdown waits for unfinished answers; streams are cut off then.
const GRACE: Duration = Duration::from_secs(5);
/// The longest connection of a stranger. The leader may take half of it to answer.
const STRANGER_TOTAL: Duration = Duration::from_secs(60);
/// The pause of a listener that cannot accept, mostly for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, Error)]
pub enum ListenError {
    #[error(
        "failed to listen on {}: another daemon is listening there; stop it first, \
         or give this one another socket",
        path.display()
    )]
    InUse { path: PathBuf },
    /// A file that is not a socket, which we must not remove.
    #[error("failed to listen on {}: the path is a file that is not a socket", path.display())]
    InTheWay { path: PathBuf },
    #[error(
        "failed to listen on {}: does its directory exist, and may this user write there?",
        path.display()
    )]
    Socket {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to listen on {addr}: is it an address of this host, and is the port free?")]
    Address {
        addr: String,
        #[source]
        source: io::Error,
    },
    /// Tokens would cross the network in clear text.
    #[error(
        "failed to listen on {addr} for HTTP: beyond this host it needs TLS; set \
         `http_certificate` and `http_key` to PEM files, or listen on 127.0.0.1 behind a proxy that \
         has TLS"
    )]
    NeedsTls { addr: String },
    #[error("failed to read the {what} {}: {why}", path.display())]
    Pem { what: &'static str, path: PathBuf, why: String },
}

/// Serves `router` until `shutdown` completes; then waits at most five seconds for unfinished
/// answers.
pub async fn serve<L>(
    listener: L,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()>
where
    L: Listener<Addr = Caller>,
{
    serve_with_limits(listener, router, shutdown, Limits::default(), Revocations::default()).await
}

/// The same; a connection of a node ends when its certificate is revoked.
pub async fn serve_revocable<L>(
    listener: L,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
    revocations: Revocations,
) -> io::Result<()>
where
    L: Listener<Addr = Caller>,
{
    serve_with_limits(listener, router, shutdown, Limits::default(), revocations).await
}

async fn serve_with_limits<L>(
    mut listener: L,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
    limits: Limits,
    revocations: Revocations,
) -> io::Result<()>
where
    L: Listener<Addr = Caller>,
{
    let mut shutdown = pin!(shutdown);
    let (stop, stopping) = watch::channel(false);
    let strangers = UncertifiedConnections::default();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            (io, caller) = listener.accept() => {
                let (router, stopping) = (router.clone(), stopping.clone());
                match caller {
                    Caller::Stranger(from) => {
                        let Some(place) = strangers.try_acquire(from) else { continue };
                        let limits = limits.capped_for_stranger();
                        connections.spawn(async move {
                            let served = connection::serve(io, caller, router, limits, stopping);
                            let _ = tokio::time::timeout(STRANGER_TOTAL, served).await;
                            drop(place);
                        });
                    }
                    caller => {
                        let revoked = revocations.wait(&caller);
                        connections.spawn(async move {
                            tokio::select! {
                                () = connection::serve(io, caller, router, limits, stopping) => {}
                                () = revoked => {}
                            }
                        });
                    }
                }
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            () = &mut shutdown => break,
        }
    }
    drop(listener);
    stop.send_replace(true);
    let all_end = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, all_end).await.is_err() {
        tracing::debug!("some answers were unfinished when the daemon stopped");
    }
    Ok(())
}

/// axum asks a listener for an address of its callers' type, which a listener does not have.
fn no_address_error<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "ask the listener itself for its address"))
}

/// Handles a failed `accept`: pauses if that helps, and continues in any case.
async fn pause_after_accept_error(error: io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        return;
    }
    tracing::warn!(%error, "failed to accept a connection: are there file descriptors left?");
    tokio::time::sleep(PAUSE).await;
}
