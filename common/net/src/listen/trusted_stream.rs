//! An accepted connection that ends when the certificates with which it was made are no longer
//! trusted, also if it has become a channel: each read and each write checks that.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::migrating::MigratingStream;
use crate::identity::TrustEpoch;

/// A connection and the trust that it was made with.
#[derive(Debug)]
pub struct TrustedStream {
    stream: TlsStream<MigratingStream>,
    trust: TrustEpoch,
}

impl TrustedStream {
    pub(super) const fn new(stream: TlsStream<MigratingStream>, trust: TrustEpoch) -> Self {
        Self { stream, trust }
    }

    fn check(&self) -> io::Result<()> {
        if self.trust.holds() {
            return Ok(());
        }
        let text = "the certificates of this connection are no longer trusted";
        Err(io::Error::new(io::ErrorKind::ConnectionAborted, text))
    }
}

impl AsyncRead for TrustedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        // After the wait for data, which may have been long.
        Poll::Ready(self.check().inspect_err(|_| buf.set_filled(filled)))
    }
}

impl AsyncWrite for TrustedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
