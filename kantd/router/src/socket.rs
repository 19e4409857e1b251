//! TCP sockets: their options, and listening.

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{KeepAlive, TcpKeepCount, TcpKeepIdle, TcpKeepInterval};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::AsyncWrite as _;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Connections that wait to be accepted: enough for the clients of a service that connect again at
/// the same time.
const BACKLOG: u32 = 4096;

/// Sends small messages at once, and detects a peer without power within two minutes even on an
/// idle connection.
pub fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    setsockopt(stream, KeepAlive, &true)?;
    setsockopt(stream, TcpKeepIdle, &60)?;
    setsockopt(stream, TcpKeepInterval, &10)?;
    setsockopt(stream, TcpKeepCount, &6)?;
    Ok(())
}

/// Writes slices. The system call for one is cheaper than that for several.
pub fn poll_write_slices(
    stream: &mut TcpStream,
    cx: &mut Context<'_>,
    slices: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    match slices {
        [one] => Pin::new(stream).poll_write(cx, one),
        several => Pin::new(stream).poll_write_vectored(cx, several),
    }
}

/// Listens at an address of this host.
pub fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A router that was restarted gets the address of its last connections back at once.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}
