//! Which job goes first, and which may start at all.

pub mod order;

pub mod sharing;

pub(crate) mod admit;
mod backfill_order;
mod cursor;
mod settle;
pub(crate) mod turns;

pub(crate) mod queue_scan;
