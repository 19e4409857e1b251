//! One controller's part of the replicated log, as a value that is stepped: raft over the store of
//! crate `wal`. Only this crate uses the consensus library. It never reads a clock or opens a
//! socket: the caller supplies ticks, a transport and a seed, so a simulation runs the same code.
//!
//! ```text
//! propose, messages, ticks ──> Replica ──> wal: append, one fsync ──> committed ──> Machine
//!                                 │                                                   │
//!                                 └── Outbox: messages to peers, answers to callers <─┘
//! ```
//!
//! Snapshots are written concurrently: see `snapshot_task`.
//!
//! Start reading at [`Replica`], then `ready` (the order of writes, messages and answers).

mod change;
mod election;
mod error;
#[cfg(test)]
mod golden;
mod log;
mod loss_check;
mod machine;
mod members;
mod open;
mod outbox;
mod peer_message;
mod pending;
mod read_index;
mod ready;
mod replica;
mod snapshot_payload;
mod snapshot_task;
mod status;
mod storage;

pub use change::{Change, ChangeRefusal};
pub use error::{LogError, Loss, ProposeError, StoreError};
pub use machine::Machine;
pub use members::{Member, Members};
pub use open::{Bootstrap, ReplicaConfig, SNAPSHOT_BYTES_MIN, create_log};
pub use outbox::{Completion, Outbox};
pub use peer_message::PeerMessage;
pub use replica::{Replica, Settled};
pub use snapshot_task::{SnapshotOutcome, SnapshotTask};
pub use status::{Follower, Role, Status};
