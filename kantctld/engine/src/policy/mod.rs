//! Which job goes first, and which may start at all.

pub mod order;

pub(crate) mod admit;
mod cursor;
mod settle;

pub(crate) mod queue_scan;
