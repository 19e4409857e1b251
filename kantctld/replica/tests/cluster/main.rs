//! Several replicas in one thread, their letters carried by hand. Never a clock: a test ticks.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod changes;
mod elections;
mod house;
mod loss;
mod snapshots;
mod trouble;
