//! The log's thread: drives this controller's [`replica::Replica`], and lends it what it has not: a
//! clock to tick by, carriers for its letters, and others who ask. Never decides anything about the
//! log; the replica does.
//!
//! ```text
//! propose, read, change ──> inbox ──> thread: Replica ──> Post: letters to the others
//! letters from the others ──>              │
//!                                          └──> answers, and a Status whenever it changes
//! ```
//!
//! While the disk syncs one entry, proposals queue up; together they become the next entry. So a
//! submit costs one fsync when idle, and a share of one under load.

mod aside;
mod handle;
mod message;
mod stuck;
mod telling;
mod thread;

pub use handle::LogHandle;
pub use replica::{
    Beginning, Change, ChangeRefusal, Follower, Letter, LogError, Machine, Member, Members,
    Opening, ProposeError, Role, Status, StoreError,
};
pub use thread::{LogThread, Shell, start};

/// A machine that a thread can drive.
pub trait Driven:
    Machine<Command: Send + 'static, Answer: Send + 'static> + Send + 'static
{
}

impl<M> Driven for M where
    M: Machine<Command: Send + 'static, Answer: Send + 'static> + Send + 'static
{
}

/// Carries a letter, or says at once that it cannot. Never waits.
pub type Post = Box<dyn Fn(Letter) -> bool + Send>;
