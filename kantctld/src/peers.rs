//! The sockets between controllers: each dials every other one and sends its letters on what it
//! dialled; what others dialled is read. Never looks into a letter, never keeps one for later: the
//! log sends again what was lost.
//!
//! ```text
//! log thread ──post──> Lines ──> one dialler a controller ──hello──> door of the other ──> its log
//!                                └── a snapshot: a connection of its own, in pieces
//! ```

mod book;
mod dialler;
mod door;
mod hello;
mod keeper;
mod lines;
mod parcel;

pub use book::Book;
pub use door::serve;
pub use hello::{Me, clocks_agree};
pub use keeper::keep;
pub use lines::Lines;

use crate::clock::SteadyClock;
use crate::raft::{Driven, LogHandle};
use net::{Identity, Keepalive};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What all sockets of one controller share.
pub struct Peers<M: Driven> {
    /// Who this controller is.
    pub me: Me,
    pub log: LogHandle<M>,
    /// Where its letters go out.
    pub lines: Arc<Lines>,
    /// Who was heard from where.
    pub book: Book,
    /// What proves it to the others.
    pub identity: Identity,
    /// The clock, which others are told and hear of.
    pub clock: Arc<SteadyClock>,
    /// The invitation, by its hash, that was used up by a join whose change of members has not come
    /// about: that one may be asked for again.
    pub unfinished_join: Mutex<Option<String>>,
}

/// Half-open connections must be noticed in about the time of an election.
const KEEPALIVE: Keepalive =
    Keepalive { ping_interval: Duration::from_secs(1), silence_limit: Duration::from_secs(5) };
