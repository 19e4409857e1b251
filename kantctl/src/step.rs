//! Steps: programs that run concurrently as the tasks of a job, within the job's allocation.
//! `conduct` is the client that requested a step, `starter` starts its tasks on each node, `line`
//! connects the two, and `attach` is a client that attaches to a running step.

pub mod allocate;
pub mod attach;
pub mod binding;
pub mod booking;
pub mod conduct;
pub mod frame;
pub mod ground;
pub mod keeper;
pub mod layout;
pub mod line;
pub mod place;
pub mod plan;
pub mod ring;
pub mod size;
pub mod starter;
pub mod stream;
pub mod terminal;
pub mod wish;
pub mod writer;
