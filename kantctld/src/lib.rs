//! kantctld, the controller: keeps the replicated state, runs scheduling rounds, serves clients and
//! nodes. It is a shell around pure crates: `engine` decides, and `state` changes only through the
//! log. A client's identity comes from the kernel or a certificate, never from the client.

pub mod access;
pub mod admission_limits;
pub mod api;
pub mod audit;
pub mod backup;
pub mod bootstrap;
pub mod cases;
pub mod clock;
pub mod concurrency_limit;
pub mod core;
pub mod disk_guard;
pub mod files;
pub mod history;
pub mod leader;
pub mod mail;
pub mod membership;
pub mod memory;
pub mod metrics;
pub mod peers;
pub mod raft;
pub mod run;
pub mod scheduler_cache;
pub mod session;
pub mod session_registry;
pub mod settings;
pub mod simulate;
pub mod state_machine;
