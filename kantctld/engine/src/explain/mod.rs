//! Answers about jobs, computed on request and never part of a round: when a job would start, where
//! it stands in the queue, whether it could ever run, and how well the cluster is used.

pub(crate) mod feasibility;
pub mod measure;
pub(crate) mod overtaking;
pub(crate) mod position;
pub(crate) mod priority_breakdown;
pub(crate) mod queue_order;
pub mod standings;

pub mod prospect;

pub(crate) mod forecast;
pub(crate) mod het_feasibility;

pub mod solve;
pub(crate) mod what_if;
