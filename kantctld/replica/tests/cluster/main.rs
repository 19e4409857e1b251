//! Tests of several replicas in one thread. The test ticks them and delivers their messages.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod changes;
mod disk_errors;
mod elections;
mod levels;
mod loss;
mod snapshots;
mod sums;
mod test_cluster;
