//! The rules between queues that share fairly: which goes first, what may start, and on which
//! conditions one may reclaim from others.
//!
//! Source: KAI Scheduler's documentation and behaviour, clean-room.

pub mod bounds;
pub mod order;
pub(crate) mod past;
pub mod taking;
pub(crate) mod terms;
