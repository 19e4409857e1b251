//! Step 3: where a job fits. `demand` says what it needs on a node, `room` how much of it a node
//! holds, `gang` which nodes together hold all of it, `cpus` which cores of a node it gets.
//! Never orders jobs, and asks `score` which of the nodes that fit is best.

pub(crate) mod cpus;
pub(crate) mod demand;
pub(crate) mod gang;
pub(crate) mod hall;
pub(crate) mod near;
pub(crate) mod room;
