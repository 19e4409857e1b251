//! How every TCP connection of kant is tuned, on both ends.
//!
//! Never opens or closes one.

use std::io;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{KeepAlive, TcpKeepCount, TcpKeepIdle, TcpKeepInterval};
use tokio::net::TcpStream;

/// Small messages leave at once, and a peer whose power failed is noticed within two minutes even
/// if nobody has anything to say.
pub(crate) fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    setsockopt(stream, KeepAlive, &true)?;
    setsockopt(stream, TcpKeepIdle, &60)?;
    setsockopt(stream, TcpKeepInterval, &10)?;
    setsockopt(stream, TcpKeepCount, &6)?;
    Ok(())
}
