//! The part of a session that concerns services: what the node reports of replicas and of its
//! router, neither of which is in the log, and the services for that router.

use crate::core::Core;
use common::id::NodeName;
use common::wire::node::{FromNode, RouteOrder};
use tokio::sync::watch;

/// The services for routers; `None` until they are known.
pub(super) type Routes = watch::Receiver<Option<Vec<RouteOrder>>>;

/// Takes what a node reports of its replicas and of its router. Other messages do not concern
/// services.
pub(super) fn note_service_report(core: &Core, node: &NodeName, message: FromNode) {
    let now = core.now();
    let is_news = match message {
        FromNode::Replicas(statuses) => core.readiness.write().note_report(node, statuses, now),
        FromNode::RouterLoad(load) => core.autoscaler.write().note_router_load(node, load, now),
        FromNode::ReplicaLoads(loads) => {
            core.autoscaler.write().note_replica_loads(loads, now);
            false
        }
        _ => false,
    };
    if is_news {
        core.services_changed.notify_one();
    }
}

/// The services for a router once they have changed; never returns for a node without one.
pub(super) async fn next_routes(routes: &mut Option<Routes>) -> Vec<RouteOrder> {
    let Some(routes) = routes else { return std::future::pending().await };
    // An error means that the controller stops.
    while routes.changed().await.is_ok() {
        if let Some(routes) = routes.borrow_and_update().clone() {
            return routes;
        }
    }
    std::future::pending().await
}
