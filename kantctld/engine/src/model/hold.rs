//! What a running job holds: its claim in the usage accounting, and its nodes.

use crate::model::cluster::NodeIndex;
use crate::model::usage_accounting::Claim;
use common::unit::Nodes;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(crate) struct Hold {
    /// What it counts for in the usage accounting.
    pub claim: Claim,
    /// Its nodes, with the number of GPUs it holds there, whole or in part. Unknown nodes are left
    /// out.
    pub nodes: Vec<(NodeIndex, u32)>,
    /// The part that it gives up while it runs on.
    pub part: Option<Arc<GivenUp>>,
    /// The most that it could give up and run on, where jobs are preempted one by one.
    pub surplus: Option<GivenUp>,
}

/// The part of a job's holdings, on its last nodes, that it gives up.
#[derive(Debug, Clone)]
pub(crate) struct GivenUp {
    /// The number of its first nodes that it keeps.
    pub keeps: Nodes,
    /// The claim that is freed. Its job count is 0, since the job runs on.
    pub claim: Claim,
    /// The claim that remains.
    pub rest: Claim,
    /// As in [`Hold`].
    pub nodes: Vec<(NodeIndex, u32)>,
}
