//! The part of a session that concerns services: what the node reports of replicas and of its
//! router, neither of which is in the log, and the services for that router.

use crate::core::Core;
use common::id::NodeName;
use common::job::ReplicaStatus;
use common::service::load::RouterLoad;
use common::wire::node::RouteOrder;
use tokio::sync::watch;

/// The services for routers; `None` until they are known.
pub(super) type Routes = watch::Receiver<Option<Vec<RouteOrder>>>;

/// Takes a report on replicas.
pub(super) fn note_replicas(core: &Core, node: &NodeName, statuses: Vec<ReplicaStatus>) {
    let now = core.now();
    if core.readiness.write().report(node, statuses, now) {
        core.services_changed.notify_one();
    }
}

/// Takes a report of the router on the node.
pub(super) fn note_load(core: &Core, node: &NodeName, load: RouterLoad) {
    let now = core.now();
    if core.autoscaler.write().report(node, load, now) {
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
