//! the kant node daemon: discovers, launches, confines, reports

pub mod cgroup;
pub mod gpu;
