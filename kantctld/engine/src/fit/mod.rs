//! Step 3: where a job fits. `demand` computes what it needs on a node, `room` how many of its
//! tasks a node holds, `gang` which nodes together hold the whole job, and `cpus` which cores of a
//! node it gets. `score` ranks the nodes that fit.

pub(crate) mod cpus;
pub(crate) mod demand;
pub(crate) mod gang;
pub(crate) mod near;
pub(crate) mod node_search;
pub(crate) mod room;
