//! An idle connection, kept for the next request for less time than the daemon keeps it.

use std::time::{Duration, Instant};

use axum::body::Body;
use hyper::client::conn::http1::SendRequest;

/// The daemon may close a connection that is idle for longer, and a request on it would be lost.
const IDLE_LIMIT: Duration = Duration::from_secs(20);

/// A connection that waits for the next request.
#[derive(Debug)]
pub(super) struct IdleConnection {
    pub(super) connection: SendRequest<Body>,
    since: Instant,
}

impl IdleConnection {
    /// The connection is idle from now on.
    pub(super) fn new(connection: SendRequest<Body>) -> Self {
        Self { connection, since: Instant::now() }
    }

    /// May a request use it?
    pub(super) fn is_fresh(&self) -> bool {
        !self.connection.is_closed() && self.since.elapsed() < IDLE_LIMIT
    }
}
