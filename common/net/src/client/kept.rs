//! A connection that is kept for the next question, for less time than the daemon keeps it. Never
//! asks.

use std::time::{Duration, Instant};

use axum::body::Body;
use hyper::client::conn::http1::SendRequest;

/// One that was kept for longer may just be hung up on by the daemon, and a question would be lost.
const IDLE_LIMIT: Duration = Duration::from_secs(20);

/// A connection that waits for the next question.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) connection: SendRequest<Body>,
    since: Instant,
}

impl Kept {
    /// From now on it waits.
    pub(super) fn new(connection: SendRequest<Body>) -> Self {
        Self { connection, since: Instant::now() }
    }

    /// May a question go out on it?
    pub(super) fn is_fresh(&self) -> bool {
        !self.connection.is_closed() && self.since.elapsed() < IDLE_LIMIT
    }
}
