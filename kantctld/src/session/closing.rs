//! The last message of a session that is not started or does not go on.

use super::Down;
use crate::core::Core;
use common::id::NodeName;
use common::wire::node::ToNode;

pub(super) async fn refuse(name: &NodeName, down: &Down, reason: String) {
    tracing::warn!("node {name} refused: {reason}");
    let _ = down.send(&ToNode::Refused { reason: reason.clone() }).await;
    down.close(&reason).await;
}

/// Redirects a node to the leader, if it is known.
pub(super) async fn redirect(core: &Core, down: &Down) {
    let leader = core.leader().map(|leader| leader.address);
    let _ = down.send(&ToNode::NotLeader { leader }).await;
    down.close("this controller does not lead").await;
}
