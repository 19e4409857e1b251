//! What queues hold, ask for and are entitled to under fair sharing. All of it depends only on its
//! arguments.
//!
//! Source: KAI Scheduler's documentation and behaviour, clean-room.

mod amount;
pub mod divide;
mod running_index;
pub mod runtime;
mod terms;
pub mod tree;

pub use amount::{Amount, Resource, UNLIMITED};
pub(crate) use running_index::{Member, Place, Row, RunningIndex, held, priority};
pub(crate) use terms::{Kinds, terms, tree as tree_of};
