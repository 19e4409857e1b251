//! The endpoint of a daemon, and the opening of one HTTP/1.1 connection to it, without retries.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::ClientError;
use crate::identity::Identity;
use crate::tcp;

/// The address of a daemon.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// A daemon on this host, which learns the caller from the kernel.
    Unix(PathBuf),
    /// A controller behind TLS, which learns the caller from `identity`.
    Tls {
        /// `host:port`.
        addr: String,
        identity: Identity,
    },
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Unix(path) => path.display().fmt(f),
            Endpoint::Tls { addr, .. } => f.write_str(addr),
        }
    }
}

impl Endpoint {
    /// The first thing to check when the daemon does not answer.
    fn advice(&self, error: &io::Error) -> &'static str {
        match (self, error.kind()) {
            (Endpoint::Unix(_), io::ErrorKind::PermissionDenied) => {
                "may this user enter its directory?"
            }
            (Endpoint::Unix(_), _) => "does kantctld or kantd run on this host?",
            // rustls wraps its own errors as InvalidData, a refused certificate among them.
            (Endpoint::Tls { .. }, io::ErrorKind::InvalidData) => {
                "is it a kantctld of this host's cluster, and is this host's certificate valid?"
            }
            (Endpoint::Tls { .. }, io::ErrorKind::TimedOut) => {
                "is the host up, and does a firewall let this port through?"
            }
            (Endpoint::Tls { .. }, _) => "does kantctld run there, and is the address right?",
        }
    }

    pub(crate) fn unreachable_error(&self, source: io::Error) -> ClientError {
        ClientError::Unreachable {
            endpoint: self.to_string(),
            advice: self.advice(&source),
            source,
        }
    }

    /// Opens a connection within `limit`; a separate task drives it until both sides are done.
    pub(crate) async fn dial(&self, limit: Duration) -> Result<SendRequest<Body>, ClientError> {
        match tokio::time::timeout(limit, self.open()).await {
            Ok(Ok(sender)) => Ok(sender),
            Ok(Err(error)) => Err(self.unreachable_error(error)),
            Err(_) => {
                let silence = format!("no answer within {} s", limit.as_secs_f32());
                Err(self.unreachable_error(io::Error::new(io::ErrorKind::TimedOut, silence)))
            }
        }
    }

    async fn open(&self) -> io::Result<SendRequest<Body>> {
        let stream: Pin<Box<dyn Stream>> = match self {
            Endpoint::Unix(path) => Box::pin(UnixStream::connect(path).await?),
            Endpoint::Tls { addr, identity } => {
                let stream = TcpStream::connect(addr.as_str()).await?;
                tcp::tune(&stream)?;
                let connector = TlsConnector::from(identity.client_config());
                Box::pin(connector.connect(Identity::server_name(), stream).await?)
            }
        };
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
        Ok(sender)
    }
}

trait Stream: AsyncRead + AsyncWrite + Send {}
impl<S: AsyncRead + AsyncWrite + Send> Stream for S {}
