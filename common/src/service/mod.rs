//! Services: replicas of a program that answers requests, beside jobs that run to their end.

pub mod load;
pub mod table;
