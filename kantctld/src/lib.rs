//! kantctld, the controller: keeps the replicated state, runs scheduling rounds, serves clients and
//! nodes. It is a shell around pure crates: `engine` decides, and `state` changes only through the
//! log. A client's identity comes from the kernel or a certificate, never from the client.

pub mod accepted_jwts;
pub mod backup;
pub mod clock;
pub mod disk_guard;
pub mod fence;
pub mod files;
pub mod host_names;
pub mod memory;
pub mod metrics;
pub mod raft;
pub mod release;

pub mod admission_limits;
pub mod audit;
pub mod cluster_keys;
pub mod mail;
pub mod members;
pub mod peers;
pub mod round_stats;
pub mod settings;
pub mod shared_state;
pub mod token_uses;

pub mod access;
pub mod event_feed;
pub mod history;
pub mod scheduler_cache;
pub mod session_registry;
pub mod state_machine;

pub mod core;
pub mod membership;

pub mod backups;

pub mod history_catch_up;
pub mod key_rotation;
pub mod reload;
pub mod session;
pub mod setup;

pub mod api;
pub mod bootstrap;
pub mod leader;

pub mod http;

pub mod run;
