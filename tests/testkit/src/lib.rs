//! Samples for the tests of other crates: nodes, orders, jobs, and a cluster driven by commands. A
//! test names the values that it is about, and takes the rest from here.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod job;
mod node;
mod step;

mod cluster;
pub mod house;
mod service;

pub use cluster::{OPERATOR, TestCluster, USER, settings};
pub use job::{ada, job_view};
pub use node::{gpu, hello, inventory, name, share};
pub use service::deployment;
pub use step::{attempt, ended, launch_order, running, step_end, wanted};
