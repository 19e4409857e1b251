//! The protocol between controllers over WebSockets. Each controller sends raft messages only on
//! the connections that it opened itself.

use super::Protocols;
use crate::id::{ClusterId, ControllerId, LogIndex};
use crate::rules_level::RulesLevels;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// The newest version of this protocol. Controllers that share no version do not communicate.
pub const PEER_PROTOCOL: u32 = 1;

/// The versions that this build speaks.
pub const PEER_PROTOCOLS: Protocols = Protocols::with_previous(PEER_PROTOCOL);

pub const PEER_PATH: &str = "/v1/peer-channel";

/// From the controller that opened the connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToPeer {
    /// The first message of every connection.
    Hello(Box<PeerHello>),
    /// Raft messages, in order; the loss of one is harmless.
    Letters(Vec<ByteBuf>),
    /// About once a second.
    Report(PeerReport),
    /// The next piece of the large message that the hello announced.
    Chunk(ByteBuf),
}

/// The sender, and the controller that it means to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerHello {
    /// The newest version of the sender.
    pub protocol: u32,
    /// The oldest one; `None`: the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_protocol: Option<u32>,
    pub release: String,
    pub cluster: ClusterId,
    pub from: ControllerId,
    pub to: ControllerId,
    /// The address for other controllers, `host:port`; empty if there is none.
    pub address: String,
    /// The sender's wall clock.
    pub now: Time,
    /// This connection transfers only one message, with a snapshot.
    pub snapshot: Option<LetterHead>,
}

/// What each controller reports to all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerReport {
    /// Its wall clock.
    pub wall: Time,
    /// The time for stamping commands, if it leads.
    pub cluster: Option<Time>,
    /// The rules levels that its release can apply.
    pub levels: RulesLevels,
    /// Its latest checksum of the replicated state.
    pub sum: Option<StateSum>,
}

/// A checksum of the replicated state after a log entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateSum {
    pub index: LogIndex,
    /// CRC-32 (IEEE) of the serialized state.
    pub sum: u32,
}

/// The header of a message that is sent in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetterHead {
    /// Its length.
    pub bytes: u64,
    /// CRC-32 (IEEE) of all of it.
    pub checksum: u32,
}

/// From the controller that accepted the connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromPeer {
    /// Answers an accepted hello.
    Welcome {
        release: String,
        /// The version that both use from now on; `None`: the one in the hello.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        protocol: Option<u32>,
    },
    /// Answers a refused hello; then the connection ends.
    Refused {
        /// A stable code, by which a repeated reason is logged once.
        code: String,
        /// In full, for the log.
        reason: String,
    },
    /// The message in pieces is complete and delivered.
    Arrived,
}
