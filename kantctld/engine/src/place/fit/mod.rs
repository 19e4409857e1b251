//! Step 3: where a job fits. `gang` finds the nodes that together hold the whole job, and `cpus`
//! which cores of a node it gets. `demand` computes what it needs on a node, and `score` ranks the
//! nodes that fit.

pub(crate) mod cpus;
pub(crate) mod gang;
pub(crate) mod near;
pub(crate) mod preference;
