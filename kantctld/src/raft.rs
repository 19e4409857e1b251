//! The log's thread: drives this controller's [`replica::Replica`] and gives it a clock, a
//! transport for its messages, and callers. The replica makes all decisions about the log.
//!
//! ```text
//! propose, read, change ──> inbox ──> thread: Replica ──> Transport: messages to other controllers
//! messages from others ───>                │
//!                                          └──> answers, and a Status whenever it changes
//! ```
//!
//! While the disk syncs one entry, proposals queue up, and together they become the next entry. A
//! submission costs one fsync on an idle controller, and a share of one under load.

mod background;
mod disk_full;
mod handle;
mod message;
mod status_publisher;
mod thread;

pub use handle::LogHandle;
pub use replica::{
    Bootstrap, Change, ChangeRefusal, Follower, LogError, Machine, Member, Members, PeerMessage,
    ProposeError, ReplicaConfig, Role, Status, StoreError,
};
pub use thread::{Hooks, LogThread, start};

/// A machine that a thread can own.
pub trait ThreadMachine:
    Machine<Command: Send + 'static, Answer: Send + 'static> + Send + 'static
{
}

impl<M> ThreadMachine for M where
    M: Machine<Command: Send + 'static, Answer: Send + 'static> + Send + 'static
{
}

/// Sends a message without waiting; false if it cannot be sent.
pub type Transport = Box<dyn Fn(PeerMessage) -> bool + Send>;
