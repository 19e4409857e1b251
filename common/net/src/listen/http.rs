//! The HTTP port for programs and browsers, with TLS by certificate files, or without on loopback.
//! Each request carries its own proof of identity, which the router checks.
//!
//! All connections together are limited, because their users are unknown when they connect.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::connection_limits::{Counted, open_files_max};
use super::{ListenError, no_address_error, pause_after_accept_error};
use crate::caller::Caller;
use crate::tcp;

const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// The maximum number of connections.
const CONNECTIONS_MAX: u64 = 1024;
/// They may take at most an eighth of the files that this process may open.
const PART: u64 = 8;

/// The files of a certificate: the chain, and its private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PemFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// A connection, with TLS or without.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

pub type HttpStream = Counted<Box<dyn Stream>, OwnedSemaphorePermit>;

/// A TCP port for HTTP.
pub struct HttpListener {
    listener: TcpListener,
    addr: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    places: Arc<Semaphore>,
    handshakes: JoinSet<Option<HttpStream>>,
}

impl HttpListener {
    /// Listens on `addr` (`host:port`).
    ///
    /// # Errors
    /// [`ListenError`]; also if other hosts can reach the address, and there is no certificate.
    pub async fn bind(addr: &str, tls: Option<&PemFiles>) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Address { addr: addr.to_owned(), source };
        let resolved: Vec<SocketAddr> = lookup_host(addr).await.map_err(failed)?.collect();
        if tls.is_none() && !resolved.iter().all(|addr| addr.ip().is_loopback()) {
            return Err(ListenError::NeedsTls { addr: addr.to_owned() });
        }
        let acceptor = tls.map(server_config).transpose()?.map(TlsAcceptor::from);
        let listener = TcpListener::bind(resolved.as_slice()).await.map_err(failed)?;
        let places = (open_files_max() / PART).clamp(1, CONNECTIONS_MAX);
        let places = usize::try_from(places).unwrap_or(1);
        Ok(Self {
            addr: listener.local_addr().map_err(failed)?,
            listener,
            acceptor,
            places: Arc::new(Semaphore::new(places)),
            handshakes: JoinSet::new(),
        })
    }

    /// The address, with the actual port if port 0 was requested.
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    /// The scheme of its URLs.
    pub fn scheme(&self) -> &'static str {
        if self.acceptor.is_some() { "https" } else { "http" }
    }
}

impl Listener for HttpListener {
    type Io = HttpStream;
    type Addr = Caller;

    async fn accept(&mut self) -> (HttpStream, Caller) {
        loop {
            let has_place = self.places.available_permits() > 0;
            let freed = self.places.clone();
            tokio::select! {
                Some(done) = self.handshakes.join_next(), if !self.handshakes.is_empty() => {
                    if let Ok(Some(stream)) = done {
                        return (stream, Caller::Anonymous);
                    }
                }
                accepted = self.listener.accept(), if has_place => match accepted {
                    Ok((stream, from)) => self.begin_connection(stream, from),
                    Err(error) => pause_after_accept_error(error).await,
                },
                // The semaphore is never closed. Its place is taken above.
                freed = freed.acquire(), if !has_place => drop(freed),
            }
        }
    }

    fn local_addr(&self) -> io::Result<Caller> {
        no_address_error()
    }
}

impl HttpListener {
    fn begin_connection(&mut self, stream: TcpStream, from: SocketAddr) {
        let Ok(place) = self.places.clone().try_acquire_owned() else { return };
        if let Err(error) = tcp::tune(&stream) {
            tracing::debug!(%from, %error, "failed to tune a connection");
        }
        let acceptor = self.acceptor.clone();
        self.handshakes.spawn(async move {
            let stream: Box<dyn Stream> = match acceptor {
                None => Box::new(stream),
                Some(acceptor) => {
                    let accepted = tokio::time::timeout(HANDSHAKE_LIMIT, acceptor.accept(stream));
                    Box::new(accepted.await.ok()?.ok()?)
                }
            };
            Some(Counted::new(stream, place))
        });
    }
}

fn server_config(files: &PemFiles) -> Result<Arc<ServerConfig>, ListenError> {
    let failed = |what, path: &Path, why: &dyn ToString| ListenError::Pem {
        what,
        path: path.to_owned(),
        why: why.to_string(),
    };
    let (certificate, key) = ("certificate (`http_certificate`)", "private key (`http_key`)");
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(certificate, &files.certificate, &error))?;
    if chain.is_empty() {
        return Err(failed(certificate, &files.certificate, &"it contains no certificate"));
    }
    let mode = fs::metadata(&files.key).map(|data| data.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o007 != 0) {
        let why = format!("every user can use it; run `chmod o-rwx {}`", files.key.display());
        return Err(failed(key, &files.key, &why));
    }
    let secret = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| failed(key, &files.key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| failed(key, &files.key, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
