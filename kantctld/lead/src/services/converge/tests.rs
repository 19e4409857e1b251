//! Services in a model world: replicas start, become ready or fail, and the commands of `converge`
//! are applied to a real state.

use super::super::{Readiness, look, replicas};
use super::*;
use common::blob::BlobHash;
use common::id::{AttemptId, NodeName, ServiceName};
use common::job::{Ask, ReplicaHealth, ReplicaStatus};
use common::service::table::Hold;
use common::service::{Bounds, ServiceEventKind};
use common::wire::node::{StepPhase, StepStatus};
use state::{Actor, Deployment, ServiceAction, State};
use testkit::Driver;

const SCRIPT: &str = "#!/bin/sh\nexec serve\n";

/// A cluster of one large node with a service of one role.
struct World {
    driver: Driver,
    readiness: Readiness,
}
