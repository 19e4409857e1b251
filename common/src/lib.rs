//! The shared vocabulary of kant: ids, units, what users ask for, what nodes are, why things wait,
//! configuration, and the messages that cross a wire.
//!
//! This crate never does anything: no clock, no files, no sockets, no randomness, no threads. It
//! knows neither the scheduler (`engine`) nor the replicated state (`state`); both speak its words.

pub mod blob;
pub mod config;
pub mod constraint;
pub mod counts;
pub mod cpuset;
pub mod gpu;
pub mod gpu_parts;
pub mod health;
pub mod hostlist;
pub mod id;
pub mod job;
pub mod node;
pub mod policy;
pub mod reason;
pub mod reservation;
pub mod resource;
pub mod task_prolog;
pub mod text;
pub mod time;
pub mod topology;
pub mod unit;
pub mod wire;

pub use gpu::mig;
pub use policy::{account, qos, queue};
