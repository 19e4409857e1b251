//! A message from one replica to another, as bytes. Never says what is in it, but for what its
//! carrier must know.

use common::id::ControllerId;
use protobuf::Message as _;
use raft::eraftpb::{Message, MessageType};

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// To whom.
    pub to: ControllerId,
    /// It holds a snapshot: large, to be carried apart from the others, and its fate to be told
    /// ([`crate::Replica::note_snapshot_carried`]).
    pub has_snapshot: bool,
    /// The message.
    pub bytes: Vec<u8>,
}

impl Letter {
    pub(crate) fn seal(message: &Message) -> Result<Self, protobuf::ProtobufError> {
        Ok(Self {
            to: ControllerId(message.to),
            has_snapshot: message.get_msg_type() == MessageType::MsgSnapshot,
            bytes: message.write_to_bytes()?,
        })
    }
}
