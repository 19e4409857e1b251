//! Workload traces: jobs, nodes and requests from files, and back. The CSV format of kant's traces
//! and of `kantctl export`, and the Standard Workload Format of the Parallel Workloads Archive.
//!
//! The caller reads the files, and supplies the bytes and the name to use in errors. A replay
//! checks whether a job fits a cluster.

pub mod error;
mod field;
mod job;
mod node;
mod text;

mod columns;

mod jobs_csv;
mod nodes_csv;
mod requests_csv;
mod swf;

pub mod accounting;

pub use columns::push_row;
pub use error::TraceError;
pub use field::show_thousandths;
pub use job::{CpuMilli, Estimates, Job};
pub use jobs_csv::{read_jobs, write_jobs};
pub use node::Node;
pub use nodes_csv::{read_nodes, write_nodes};
pub use requests_csv::{Request, read_requests, write_requests};
pub use swf::{LeftOut, SwfLog, read_swf};
