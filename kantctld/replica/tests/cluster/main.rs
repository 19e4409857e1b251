//! Tests of several replicas in one thread. The test ticks them and delivers their messages.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod changes;
mod disk_errors;
mod elections;
mod loss;
mod snapshots;
mod test_cluster;
