//! A whole cluster in virtual time: the real `engine` and the real `state`, with machines that
//! behave as they are told. One scenario is one history, the same on every run.
//!
//! Never sleeps, reads a clock or does IO: time passes when it is told to. After every command the
//! judges of both crates look, and a third one here watches that no job runs twice at once.

pub mod accounting;
pub mod behaviour;
pub mod cases;
pub mod cluster;
pub mod fill;
pub mod machine;
pub mod replay;
pub mod report;
pub mod scenario;
pub mod trace;

pub use behaviour::Behaviour;
pub use cluster::{Cluster, SimError};
pub use machine::Machine;
pub use scenario::{ScenarioError, play};
