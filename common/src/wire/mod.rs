//! The messages between kantctl and kantctld (`api`, JSON), between kantd and kantctld (`node`,
//! MessagePack with named fields), and between controllers (`peer`, likewise). Fields may be added
//! with a default; any other change is a new protocol version ([`Protocols`]).

pub mod api;
pub mod node;
pub mod peer;
mod protocol;
mod step_record;

pub use protocol::Protocols;
