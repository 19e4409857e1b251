//! One controller's part of the replicated log, as a value that is stepped: raft over the store of
//! crate `wal`. The one place that names the consensus library. Never reads a clock, opens a
//! socket, starts a thread or draws a random number: a shell ticks it, carries its letters and
//! gives it a seed; so a simulation drives the very same code.
//!
//! ```text
//! propose, letters, ticks ──> Replica ──> wal: append, one fsync ──> committed ──> Machine
//!                                │                                                   │
//!                                └── Outbox: letters to others, answers to askers <──┘
//! ```
//!
//! A snapshot is written beside all that: see `saving`.
//!
//! Start reading at [`Replica`], then `ready` (the order in which things become true).

mod change;
mod election;
mod error;
#[cfg(test)]
mod golden;
mod letter;
mod log;
mod machine;
mod members;
mod open;
mod outbox;
mod payload;
mod proof;
mod read;
mod ready;
mod replica;
mod saving;
mod status;
mod storage;
mod waiting;

pub use change::{Change, ChangeRefusal};
pub use error::{LogError, Loss, ProposeError, StoreError};
pub use letter::Letter;
pub use machine::Machine;
pub use members::{Member, Members};
pub use open::{Beginning, Opening, SNAPSHOT_BYTES_MIN, begin};
pub use outbox::{Outbox, Told};
pub use replica::{Replica, Settled};
pub use saving::{Saved, Saving};
pub use status::{Follower, Role, Status};
