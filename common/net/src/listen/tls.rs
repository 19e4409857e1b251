//! The TLS port, for daemons with a certificate of the cluster. A host without one is let in as a
//! stranger, so that it can use an invitation.
//!
//! Handshakes run outside the accept loop, each with a time limit, so that a port scan, a slow peer
//! or a stranger does not delay the others.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::connection_limits::open_files_max;
use super::migrating::MigratingStream;
use super::trusted_stream::TrustedStream;
use super::{ListenError, no_address_error, pause_after_accept_error};
use crate::caller::Caller;
use crate::identity::Identity;
use crate::role::Role;
use crate::tcp;

/// A normal handshake takes milliseconds; on a loaded host it may need a second.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// The maximum number of concurrent handshakes, each for at most [`HANDSHAKE_LIMIT`].
const HANDSHAKES_MAX: u64 = 1024;
/// Handshakes may take at most an eighth of the files that this process may open.
const STRANGERS_PART: u64 = 8;

/// A TCP port with TLS.
pub struct TlsListener {
    listener: TcpListener,
    addr: SocketAddr,
    identity: Identity,
    handshakes_max: usize,
    handshakes: JoinSet<Option<(TrustedStream, Caller)>>,
}

impl TlsListener {
    /// Listens on `addr` (`host:port`) with the certificate of `identity`.
    pub async fn bind(addr: &str, identity: &Identity) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Address { addr: addr.to_owned(), source };
        let listener = TcpListener::bind(addr).await.map_err(failed)?;
        Ok(Self {
            addr: listener.local_addr().map_err(failed)?,
            listener,
            identity: identity.clone(),
            handshakes_max: handshakes_max(),
            handshakes: JoinSet::new(),
        })
    }

    /// The address, with the actual port if port 0 was requested.
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }
}

fn handshakes_max() -> usize {
    let most = (open_files_max() / STRANGERS_PART).min(HANDSHAKES_MAX);
    usize::try_from(most).unwrap_or(usize::MAX).max(1)
}

impl Listener for TlsListener {
    type Io = TrustedStream;
    type Addr = Caller;

    async fn accept(&mut self) -> (TrustedStream, Caller) {
        loop {
            let has_place = self.handshakes.len() < self.handshakes_max;
            tokio::select! {
                Some(done) = self.handshakes.join_next(), if !self.handshakes.is_empty() => {
                    if let Ok(Some(accepted)) = done {
                        return accepted;
                    }
                }
                accepted = self.listener.accept(), if has_place => {
                    match accepted {
                        Ok((stream, from)) => {
                            // Before the settings: they may change meanwhile.
                            let trust = self.identity.current_epoch();
                            let config = self.identity.server_config();
                            let done = shake_hands(config, stream, from);
                            self.handshakes.spawn(async move {
                                let (stream, caller) = done.await?;
                                Some((TrustedStream::new(stream, trust), caller))
                            });
                        }
                        Err(error) => pause_after_accept_error(error).await,
                    }
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Caller> {
        no_address_error()
    }
}

async fn shake_hands(
    config: Arc<ServerConfig>,
    stream: TcpStream,
    from: SocketAddr,
) -> Option<(TlsStream<MigratingStream>, Caller)> {
    if let Err(error) = tcp::tune(&stream) {
        tracing::debug!(%from, %error, "failed to tune a connection");
    }
    let accepted = TlsAcceptor::from(config).accept(MigratingStream::new(stream));
    let stream = match tokio::time::timeout(HANDSHAKE_LIMIT, accepted).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%from, %error, "a handshake failed");
            return None;
        }
        Err(_) => {
            tracing::debug!(%from, "a handshake took too long");
            return None;
        }
    };
    match Role::from_certificates(stream.get_ref().1.peer_certificates()) {
        Ok(Some(role)) => Some((stream, Caller::Peer(role))),
        Ok(None) => Some((stream, Caller::Stranger(from.ip()))),
        Err(error) => {
            tracing::debug!(%from, %error, "a verified peer was refused");
            None
        }
    }
}
