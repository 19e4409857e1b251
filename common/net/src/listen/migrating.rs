//! A TCP connection that registers with the runtime that polls it, so that its events wake no
//! thread of another runtime.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::{Handle, Id};

/// A TCP connection that moves to another runtime once a task of that runtime polls it.
#[derive(Debug)]
pub struct MigratingStream {
    /// `None` only during a move, and after a failed one.
    stream: Option<TcpStream>,
    /// The runtime that accepted it; `None` after the move, of which there is at most one.
    home: Option<Id>,
}

impl MigratingStream {
    /// A connection of the current runtime.
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream: Some(stream), home: Some(Handle::current().id()) }
    }

    /// The connection, registered with the current runtime.
    fn registered_stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        if let Some(home) = self.home
            && Handle::try_current().map_err(io::Error::other)?.id() != home
            && let Some(stream) = self.stream.take()
        {
            self.stream = Some(TcpStream::from_std(stream.into_std()?)?);
            self.home = None;
        }
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        Ok(Pin::new(stream))
    }
}

impl AsyncRead for MigratingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.registered_stream()?.poll_read(context, buffer)
    }
}

impl AsyncWrite for MigratingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.registered_stream()?.poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.registered_stream()?.poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registered_stream()?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registered_stream()?.poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::runtime::{Builder, Runtime};

    fn runtime() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    }

    #[test]
    fn a_connection_goes_on_in_another_runtime_when_its_first_one_is_gone() {
        let (first, second, peers) = (runtime(), runtime(), runtime());
        let listener = peers.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let peer = peers.spawn(async move {
            let (mut peer, _) = listener.accept().await.unwrap();
            let mut byte = [0];
            while peer.read_exact(&mut byte).await.is_ok() {
                peer.write_all(&[byte[0] + 1]).await.unwrap();
            }
        });
        let mut stream = first.block_on(async move {
            let mut stream = MigratingStream::new(TcpStream::connect(address).await.unwrap());
            stream.write_all(&[1]).await.unwrap();
            assert_eq!(stream.read_u8().await.unwrap(), 2);
            // The answer may arrive before the move.
            stream.write_all(&[3]).await.unwrap();
            stream
        });
        second.block_on(async move {
            assert_eq!(stream.read_u8().await.unwrap(), 4);
            drop(tokio::task::spawn_blocking(move || drop(first)).await);
            stream.write_all(&[5]).await.unwrap();
            assert_eq!(stream.read_u8().await.unwrap(), 6);
        });
        peers.block_on(peer).unwrap();
    }
}
