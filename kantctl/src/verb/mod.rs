//! What kantctl can do, one file a verb: its arguments, its help with examples, and what it asks
//! and shows. `filter`, `steer` and `ask` are what several of them share.

pub mod admin;
pub mod alloc;
pub mod ask;
pub mod cancel;
pub mod completions;
pub mod drain;
pub mod explain;
pub mod export;
pub mod filter;
pub mod hold;
pub mod install_slurm_names;
pub mod launch;
pub mod logs;
pub mod man;
pub mod metrics;
pub mod nodes;
pub mod priority;
pub mod queue;
pub mod queues;
pub mod release;
pub mod reload;
pub mod requeue;
pub mod reservations;
pub mod resume;
pub mod run;
pub mod show;
pub mod status;
pub mod steer;
pub mod step_tasks;
pub mod submit;
pub mod suspend;
pub mod update;
pub mod wait;
