//! Several replicas in one thread, their letters carried by hand. Never a clock: a test ticks.

mod changes;
mod elections;
mod house;
mod snapshots;
mod trouble;
