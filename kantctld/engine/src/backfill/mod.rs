//! Step 5: how later jobs may pass earlier ones without delaying them. Never starts a job itself.
//!
//! One shape for all: a job without room gets the earliest time at which it will have some
//! (`earliest`), by the time limits of those before it. With a depth of 1 that is EASY, with a
//! depth of 0 (all) conservative backfill. What is kept for it is either certain nodes
//! (`bookings`) or enough of them, whichever (`shadow`).

pub(crate) mod blocks;
pub(crate) mod bookings;
pub(crate) mod earliest;
mod filled;
pub(crate) mod freed;
mod openings;
pub(crate) mod shadow;
mod sweep;
mod timeline;

#[cfg(test)]
mod tests;
