//! `schedule(&Snapshot, now) -> Round`: which waiting jobs start now, where, on which CPUs and
//! GPUs, and why each other one waits. [`round`] is the first file to read.
//!
//! This crate never reads a clock, draws a random number, does IO, or remembers anything from one
//! round to the next: the same snapshot and time give the same round, bit for bit.
#![warn(missing_docs)]

mod admit;
mod backfill;
pub mod books;
pub mod check;
mod cluster;
pub mod decision;
mod fit;
mod free;
pub mod measure;
pub mod order;
mod outlook;
mod place;
pub mod round;
mod score;
mod shape;
pub mod snapshot;
#[cfg(test)]
mod testing;
mod trial;
mod wait;

pub use decision::Decision;
pub use round::{Round, could_ever_fit, schedule};
pub use snapshot::{NodeSnapshot, RunningJob, Snapshot, Unusable, WaitingJob};
