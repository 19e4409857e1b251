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
//! Snapshots are written concurrently: see `replica/snapshot_task.rs`.
//!
//! Start reading at [`Replica`], then `replica/ready.rs` (the order of writes, messages and
//! answers).

mod error;
mod log;
mod machine;
mod members;
mod message_outline;

mod loss_check;
mod outbox;
mod peer_message;
mod pending;
mod snapshot_payload;

mod open;
mod state_sums;
mod storage;

mod level_check;

mod replica;

#[cfg(feature = "testing")]
pub mod votes;

#[cfg(test)]
mod golden;

pub use error::{ChangeRefusal, LogError, Loss, ProposeError, StoreError};
pub use machine::Machine;
pub use members::{Member, Members};
pub use open::{Bootstrap, COMPARE_EVERY, ReplicaConfig, SNAPSHOT_BYTES_MIN, create_log};
pub use outbox::{Completion, Outbox};
pub use peer_message::PeerMessage;
pub use replica::{
    Change, Follower, Replica, Role, Settled, SnapshotOutcome, SnapshotTask, Status, SumOutcome,
    SumTask,
};
