//! Step 5: how later jobs may pass earlier ones without delaying them.
//!
//! Every variant works the same way: a job without room is promised the earliest time at which it
//! will have room (`earliest`), by the time limits of the jobs before it. A depth of 1 is EASY, a
//! depth of 0 (all jobs) is conservative backfill. The promise keeps either certain nodes
//! (`node_search::bookings`) or a number of suitable ones (`shadow`).

pub(crate) mod delay_allowed;
pub(crate) mod earliest;
mod filled;
pub(crate) mod ready_times;
pub(crate) mod segments;
pub(crate) mod shadow;
mod sweep;

#[cfg(test)]
mod tests;
