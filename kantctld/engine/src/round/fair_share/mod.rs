//! Fair sharing between queues as one loop over the state of a round: the queue furthest below its
//! share has the next turn, and what a job gets is taken on the round's own trial, in every detail.
//! What queues are entitled to is in [`crate::model::shares`], on which conditions one may reclaim
//! from others in [`crate::policy::sharing`].
//!
//! 1. Place: each job starts where there is room, or waits for room that others are leaving.
//! 2. Move: running jobs move to make room for a waiting one, if all of them have a place.
//! 3. Reclaim: jobs of queues above their share are stopped for queues below theirs.
//! 4. Preempt: jobs are stopped for a job of higher priority in their queue.
//!
//! Source: KAI Scheduler's documentation and behaviour, clean-room.

mod accounts;
mod asks;
mod claim;
mod rank;
mod refusal;

mod gang;
mod queue_jobs;

mod line;
mod wanted;

mod holding;

mod candidates;
mod search;

mod claiming;
mod later;
mod make_room;
mod moves;
mod place;

mod round;

pub(crate) use accounts::Accounts;
pub(crate) use moves::may_move;
pub(crate) use refusal::exceeded_quota;
pub use round::{Passes, round, round_of};

#[cfg(test)]
mod tests;
