//! A connection to a replica.

use crate::socket;
use crate::upload::Upload;
use common::service::table::Protocol;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::HOST;
use hyper::{Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use nix::sys::socket::{MsgFlags, recv};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How often an HTTP/2 connection is asked whether it is alive.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// The most of an answer that is read before the client takes it; also the largest header.
const BUFFER_BYTES_MAX: usize = 64 << 10;

/// A connection to a replica, or a place on one with HTTP/2.
#[derive(Debug)]
pub enum Upstream {
    Http1 {
        sender: http1::SendRequest<Upload>,
        /// Something was read since the last request was sent.
        has_read: Arc<AtomicBool>,
        fd: RawFd,
    },
    H2c(http2::SendRequest<Upload>),
}

/// Why a request got no answer on a connection.
#[derive(Debug)]
pub struct SendError {
    pub error: hyper::Error,
    /// The request, if nothing of it was sent.
    pub unsent: Option<Request<Upload>>,
    /// A part of an answer arrived.
    pub has_read: bool,
}

/// Opens a connection.
///
/// # Errors
/// If the replica does not accept it within the limit.
pub async fn connect(
    addr: SocketAddr,
    protocol: Protocol,
    limit: Duration,
) -> io::Result<Upstream> {
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no connection in time");
    tokio::time::timeout(limit, open(addr, protocol)).await.map_err(late)?
}

async fn open(addr: SocketAddr, protocol: Protocol) -> io::Result<Upstream> {
    let stream = TcpStream::connect(addr).await?;
    socket::tune(&stream)?;
    let fd = stream.as_raw_fd();
    let has_read = Arc::new(AtomicBool::new(false));
    let io = TokioIo::new(UpstreamIo { stream, has_read: has_read.clone() });
    match protocol {
        Protocol::Http1 => {
            let mut builder = http1::Builder::new();
            builder.max_buf_size(BUFFER_BYTES_MAX);
            let (sender, connection) = builder.handshake(io).await.map_err(io::Error::other)?;
            // How it ends is known from the request on it; an idle one may end at any time.
            tokio::spawn(async move { drop(connection.with_upgrades().await) });
            Ok(Upstream::Http1 { sender, has_read, fd })
        }
        Protocol::H2c => {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder
                .timer(TokioTimer::new())
                .keep_alive_interval(PING_INTERVAL)
                .keep_alive_timeout(PING_TIMEOUT);
            let (mut sender, connection) = builder.handshake(io).await.map_err(io::Error::other)?;
            tokio::spawn(async move { drop(connection.await) });
            sender.ready().await.map_err(io::Error::other)?;
            Ok(Upstream::H2c(sender))
        }
    }
}

impl Upstream {
    /// Can it take a request now?
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Http1 { sender, .. } => sender.is_ready() && !sender.is_closed(),
            Self::H2c(sender) => sender.is_ready() && !sender.is_closed(),
        }
    }

    pub fn is_closed(&self) -> bool {
        match self {
            Self::Http1 { sender, .. } => sender.is_closed(),
            Self::H2c(sender) => sender.is_closed(),
        }
    }

    /// Another place on the same connection.
    pub fn clone_if_multiplexed(&self) -> Option<Self> {
        match self {
            Self::Http1 { .. } => None,
            Self::H2c(sender) => Some(Self::H2c(sender.clone())),
        }
    }

    /// Asks the kernel whether the idle connection is still open, because the event that it was
    /// closed may not have been handled yet. To be called on the connection's own thread.
    pub fn is_open_now(&self) -> bool {
        let Self::Http1 { fd, .. } = self else { return !self.is_closed() };
        // The task that owns the descriptor runs on this thread and has not ended, as the sender
        // is not closed, so the number still stands for the same connection.
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        !self.is_closed() && recv(*fd, &mut [0], flags) == Err(nix::Error::EAGAIN)
    }

    /// Sends a request with a path as its target, and waits for the begin of its answer.
    ///
    /// # Errors
    /// If the connection ends first.
    pub async fn send(
        &mut self,
        request: Request<Upload>,
    ) -> Result<Response<Incoming>, SendError> {
        match self {
            Self::Http1 { sender, has_read, .. } => {
                has_read.store(false, Relaxed);
                let sent = sender.try_send_request(request).await;
                sent.map_err(|mut error| SendError {
                    unsent: error.take_message(),
                    error: error.into_error(),
                    has_read: has_read.load(Relaxed),
                })
            }
            Self::H2c(sender) => {
                let sent = sender.try_send_request(with_authority(request)).await;
                // Other requests on the connection hide whether this one has an answer.
                sent.map_err(|mut error| SendError {
                    unsent: error.take_message(),
                    error: error.into_error(),
                    has_read: false,
                })
            }
        }
    }
}

/// The request with its `Host` in the target, where HTTP/2 has it.
fn with_authority(mut request: Request<Upload>) -> Request<Upload> {
    let Some(host) = request.headers_mut().remove(HOST) else { return request };
    let path = request.uri().path_and_query().cloned();
    let uri = Uri::builder().scheme("http").authority(host.as_bytes());
    let uri = uri.path_and_query(path.map_or("/".to_owned(), |path| path.to_string())).build();
    match uri {
        Ok(uri) => *request.uri_mut() = uri,
        // A host that is no authority stays a field.
        Err(_) => drop(request.headers_mut().insert(HOST, host)),
    }
    request
}

/// The stream of a connection, which notes that something was read.
struct UpstreamIo {
    stream: TcpStream,
    has_read: Arc<AtomicBool>,
}

impl AsyncRead for UpstreamIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.has_read.store(true, Relaxed);
        }
        read
    }
}

impl AsyncWrite for UpstreamIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        socket::poll_write_slices(&mut self.stream, cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
