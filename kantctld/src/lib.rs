//! kantctld, the controller: keeps the replicated state, decides rounds, speaks to clients and
//! nodes. A shell: it never decides anything itself (that is `engine`), never changes the state but
//! through the log (that is `state`), and never trusts a client about who they are.

pub mod access;
pub mod api;
pub mod audit;
pub mod backup;
pub mod cases;
pub mod clock;
pub mod core;
pub mod files;
pub mod history;
pub mod hub;
pub mod leader;
pub mod lookout;
pub mod machine;
pub mod mail;
pub mod membership;
pub mod memory;
pub mod metrics;
pub mod opening;
pub mod peers;
pub mod places;
pub mod raft;
pub mod room;
pub mod run;
pub mod session;
pub mod settings;
pub mod simulate;
pub mod turns;
