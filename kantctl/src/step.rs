//! Steps: programs that run side by side as the tasks of a job. `conduct` is the loop of who asked
//! for one; `starter` is the parent of the tasks on each node; `line` is what lies between the two,
//! and `attach` is who looks on. Never decides what a job gets; a step has no more than its job.

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
