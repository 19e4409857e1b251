//! the kant node daemon: discovers, launches, confines, reports

pub mod gpu;
