//! The peers' protocol: what one controller says to another over a WebSocket that it dialled. Each
//! only sends letters on what it dialled itself. Never says what is in a letter.

use crate::id::{ClusterId, ControllerId};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// The version of this protocol; controllers of two versions do not talk.
pub const PEER_PROTOCOL: u32 = 1;

/// The path of the WebSocket.
pub const PEER_PATH: &str = "/v1/peer-channel";

/// From the controller that dialled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToPeer {
    /// First message of every connection.
    Hello(Box<PeerHello>),
    /// Letters, in the order they were written; losing one is harmless.
    Letters(Vec<ByteBuf>),
    /// What time it is, about once a second.
    Clock(PeerClock),
    /// The next piece of the one large letter that the hello announced.
    Chunk(ByteBuf),
}

/// Who dials, and whom it means to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerHello {
    /// [`PEER_PROTOCOL`] of the sender.
    pub protocol: u32,
    pub release: String,
    /// The cluster it belongs to.
    pub cluster: ClusterId,
    pub from: ControllerId,
    pub to: ControllerId,
    /// Where others reach the sender, `host:port`; empty if nowhere.
    pub address: String,
    /// The sender's wall clock.
    pub now: Time,
    /// This connection carries one letter with a snapshot, and nothing else.
    pub snapshot: Option<LetterHead>,
}

/// What time it is for the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerClock {
    pub wall: Time,
    /// The time that it stamps commands with, if it leads.
    pub cluster: Option<Time>,
}

/// A letter that comes in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetterHead {
    /// Its length in bytes.
    pub bytes: u64,
    /// CRC-32 (IEEE) of all of it.
    pub checksum: u32,
}

/// From the controller that was dialled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromPeer {
    /// Answers a hello that was accepted.
    Welcome {
        /// The answering controller's release.
        release: String,
    },
    /// Answers one that was not; the connection ends after it.
    Refused {
        /// A stable word: the same reason is told once.
        code: String,
        /// In full, for the log.
        reason: String,
    },
    /// The letter that came in pieces is whole, and handed in.
    Arrived,
}
