//! What a round works on: jobs, nodes and queues, the index of the cluster, the queue of waiting
//! jobs, usage accounting, and the snapshot that holds them all.

pub mod decision;
pub(crate) mod job;
pub(crate) mod node_snapshot;
pub(crate) mod past_usage;
pub(crate) mod queues;
pub(crate) mod resume_cursor;
pub mod typical;
pub mod usage_accounting;

pub(crate) mod cluster;

pub(crate) mod demand;
pub(crate) mod features;
pub(crate) mod hold;
pub(crate) mod judge_ledger;
pub mod rank;
pub(crate) mod yardstick;

pub(crate) mod shape;
pub mod shares;
pub(crate) mod victim_index;
pub(crate) mod wait_queue;

pub(crate) mod claims;
pub(crate) mod shape_cache;

pub mod snapshot;
