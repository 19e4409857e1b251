//! A whole cluster in virtual time: the real `engine` and the real `state`, with simulated
//! machines. One scenario is one history, the same on every run.
//!
//! This crate never sleeps, reads a clock or does IO: the caller advances time. After every command
//! the judges of both crates check the result, and a third one here checks that no job runs twice
//! at once.

pub mod behaviour;
pub mod cases;
mod hardware;

pub mod machine;
pub mod report;
pub mod service;

pub mod cluster;
pub mod replay;

pub mod day_night;
pub mod fill;
pub mod scenario;

pub use behaviour::Behaviour;
pub use cluster::{Cluster, SimError};
pub use machine::Machine;
pub use scenario::{ScenarioError, play};
