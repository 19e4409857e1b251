//! The connections between controllers. Each controller connects to every other one and sends its
//! raft messages there; accepted connections are only read. Messages are opaque here, and a lost
//! one is not kept: the log sends it again.
//!
//! ```text
//! log thread ──transport──> Links ──> one connector per controller ──hello──> listener ──> its log
//!                                     └── a snapshot: on its own connection, in chunks
//! ```

mod address_book;
mod chunked_transfer;
mod connector;
mod handshake;
mod links;
mod listener;
mod registry;

pub use address_book::AddressBook;
pub use handshake::{LocalController, clocks_agree};
pub use links::Links;
pub use listener::serve;
pub use registry::maintain_connections;

use crate::clock::SteadyClock;
use crate::raft::{LogHandle, ThreadMachine};
use common::sync::Mutex;
use lead::ReportedLevels;
use net::{Identity, Keepalive};
use std::sync::Arc;
use std::time::Duration;

/// The shared parts of all connections.
pub struct Peers<M: ThreadMachine> {
    pub local: LocalController,
    pub log: LogHandle<M>,
    /// Where outgoing messages are queued.
    pub links: Arc<Links>,
    /// The addresses that other controllers announced.
    pub addresses: AddressBook,
    /// This controller's certificate.
    pub identity: Identity,
    /// Exchanged with other controllers.
    pub clock: Arc<SteadyClock>,
    /// The hash of an invitation that a join used up although its change of members did not
    /// complete: the same join may be repeated.
    pub unfinished_join: Mutex<Option<String>>,
    /// The rules levels that the other controllers know.
    pub levels: Mutex<ReportedLevels>,
}

/// Half-open connections must be noticed within about the time of an election.
const KEEPALIVE: Keepalive =
    Keepalive { ping_interval: Duration::from_secs(1), silence_limit: Duration::from_secs(5) };
