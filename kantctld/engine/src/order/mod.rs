//! Step 1: in which order waiting jobs are considered. Never asks whether they may or can start.

pub(crate) mod priority;
