//! The socket options of all TCP connections.

use std::io;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{KeepAlive, TcpKeepCount, TcpKeepIdle, TcpKeepInterval};
use tokio::net::TcpStream;

/// Sends small messages at once, and detects a peer without power within two minutes even on an
/// idle connection.
pub(crate) fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    setsockopt(stream, KeepAlive, &true)?;
    setsockopt(stream, TcpKeepIdle, &60)?;
    setsockopt(stream, TcpKeepInterval, &10)?;
    setsockopt(stream, TcpKeepCount, &6)?;
    Ok(())
}
