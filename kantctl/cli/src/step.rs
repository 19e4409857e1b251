//! Steps: programs that run concurrently as the tasks of a job, within the job's allocation.
//! `client` is the client that requested a step, `launcher` starts its tasks on each node,
//! `connection` connects the two, and `attach` is a client that attaches to a running step.

pub mod allocate;
pub mod answer_headers;
pub mod attach;
pub mod binding;
pub mod client;
pub mod connection;
pub mod current_size;
pub mod frame;
pub mod job_allocation;
pub mod launcher;
pub mod layout;
pub mod lease_renewer;
pub mod ledger_client;
pub mod placement;
pub mod plan;
pub mod raw_terminal;
pub mod recent_output;
pub mod step_options;
pub mod stream;
pub mod writer;
