//! Where a job has room: nodes that hold it, the best of them, and when nodes become free.

pub(crate) mod trial;

pub(crate) mod idle_fit;
pub(crate) mod node_search;

pub(crate) mod backfill;
pub(crate) mod score;

pub(crate) mod fit;

pub(crate) mod placing;
