//! The listener for operators, Prometheus and the autoscaler: `/metrics`, `/load`, `/http_sd` and
//! `/livez`.

use crate::config::AdminAddress;
use crate::control::Services;
use crate::metrics;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::fs::Permissions;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The longest time for a request's header, and between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECTIONS_MAX: usize = 64;
const PAUSE: Duration = Duration::from_millis(200);
/// The router's user and group.
const SOCKET_MODE: u32 = 0o660;

/// Why the admin address cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error("failed to listen on {addr}: the admin address must be one of this host alone")]
    NotLoopback { addr: SocketAddr },
    #[error("failed to listen on {addr}: is the port free?")]
    Address {
        addr: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("failed to listen on {}: another program listens there", path.display())]
    InUse { path: PathBuf },
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
}

/// A bound admin address.
#[derive(Debug)]
pub enum Admin {
    Unix(UnixListener, SocketFile),
    Tcp(TcpListener, SocketAddr),
}

/// The file of a unix socket, which is removed with its listener.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::debug!(path = %self.0.display(), %error, "failed to remove the socket");
        }
    }
}

/// The same inside a runtime.
enum Listening {
    Unix(tokio::net::UnixListener),
    Tcp(tokio::net::TcpListener),
}

impl Admin {
    /// Listens.
    ///
    /// # Errors
    /// If the address is not one of this host, or not free.
    pub fn bind(address: &AdminAddress) -> Result<Self, AdminError> {
        match address {
            AdminAddress::Loopback(addr) => {
                let addr = *addr;
                if !addr.ip().to_canonical().is_loopback() {
                    return Err(AdminError::NotLoopback { addr });
                }
                let failed = |source| AdminError::Address { addr, source };
                let listener = TcpListener::bind(addr).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                let bound = listener.local_addr().map_err(failed)?;
                Ok(Self::Tcp(listener, bound))
            }
            AdminAddress::Unix(path) => {
                bind_unix(path).map(|listener| Self::Unix(listener, SocketFile(path.clone())))
            }
        }
    }

    /// The address, if it is not a path.
    pub const fn addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Unix(..) => None,
            Self::Tcp(_, bound) => Some(*bound),
        }
    }

    /// Answers requests for ever.
    pub async fn serve(self, services: Arc<Services>) {
        let (listening, _file) = match self {
            Self::Unix(listener, file) => {
                (tokio::net::UnixListener::from_std(listener).map(Listening::Unix), Some(file))
            }
            Self::Tcp(listener, _) => {
                (tokio::net::TcpListener::from_std(listener).map(Listening::Tcp), None)
            }
        };
        match listening {
            Ok(listening) => listening.accept_all(&services).await,
            Err(error) => tracing::error!(%error, "failed to serve the admin address"),
        }
    }
}

impl Listening {
    async fn accept_all(self, services: &Arc<Services>) {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        // The semaphore is never closed.
        while let Ok(place) = places.clone().acquire_owned().await {
            let services = services.clone();
            let accepted = match &self {
                Self::Unix(listener) => listener.accept().await.map(|(stream, _)| {
                    tokio::spawn(serve_connection(stream, services, place));
                }),
                Self::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                    tokio::spawn(serve_connection(stream, services, place));
                }),
            };
            if let Err(error) = accepted {
                tracing::warn!(%error, "failed to accept a connection to the admin address");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn bind_unix(path: &Path) -> Result<UnixListener, AdminError> {
    let failed = |source| AdminError::Socket { path: path.to_owned(), source };
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(AdminError::InTheWay { path: path.to_owned() });
        }
        // A crash leaves the socket behind.
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(failed)?;
            }
            _ => return Err(AdminError::InUse { path: path.to_owned() }),
        },
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    std::fs::set_permissions(path, Permissions::from_mode(SOCKET_MODE)).map_err(failed)?;
    Ok(listener)
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    services: Arc<Services>,
    _place: OwnedSemaphorePermit,
) {
    let service = service_fn(|request: Request<Incoming>| {
        let answer = answer(request.method(), request.uri().path(), &services);
        async { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection to the admin address ended early");
    }
}

fn answer(method: &Method, path: &str, services: &Services) -> Response<Text> {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
    const METRICS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");
    let (status, kind, text) = match path {
        "/metrics" => (StatusCode::OK, METRICS, metrics::text(services)),
        "/load" => {
            // Own types always encode.
            let load = serde_json::to_string(&metrics::router_load(services)).unwrap_or_default();
            (StatusCode::OK, JSON, load)
        }
        "/http_sd" => (StatusCode::OK, JSON, metrics::http_sd(services).to_string()),
        "/livez" => (StatusCode::OK, PLAIN, "ok\n".to_owned()),
        _ => {
            let paths = "there are /metrics, /load, /http_sd and /livez\n";
            (StatusCode::NOT_FOUND, PLAIN, paths.to_owned())
        }
    };
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let mut answer = Response::new(Text(Some(Bytes::from(text))));
    *answer.status_mut() = if is_read { status } else { StatusCode::METHOD_NOT_ALLOWED };
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    if !is_read {
        *answer.body_mut() = Text(None);
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    answer
}

/// A body of one piece.
struct Text(Option<Bytes>);

impl Body for Text {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|text| Ok(Frame::data(text))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |text| text.len() as u64))
    }
}
