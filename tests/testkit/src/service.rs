//! Services for the tests of state and leader.

use crate::ada;
use common::blob::BlobHash;
use common::job::{Ask, Probes};
use common::service::table::{Hold, Protocol};
use common::service::{Base, Bounds, RoleSpec, ServiceSpec, UpdatePolicy};
use common::time::Span;
use state::Deployment;

/// A service of ada's with one role, `worker`, of 1 to 3 replicas that run this script. Another
/// script makes another revision.
#[must_use]
pub fn deployment(name: &str, script: &str, change: impl FnOnce(&mut ServiceSpec)) -> Deployment {
    let role = RoleSpec {
        name: "worker".parse().unwrap(),
        ask: Ask::default(),
        script: BlobHash::of(script.as_bytes()),
        environment: BlobHash::of(b""),
        replicas: Bounds { min: 1, max: 3 },
        ports: vec!["http".parse().unwrap()],
        probes: Probes::default(),
        metrics: None,
        autoscale: None,
    };
    let mut spec = ServiceSpec {
        roles: vec![role],
        port: None,
        entry: None,
        ratio: None,
        near: None,
        protocol: Protocol::default(),
        affinity: None,
        base: Base::default(),
        hold: Hold::default(),
        token: None,
        drain_delay: Span(0),
        update: UpdatePolicy::default(),
    };
    change(&mut spec);
    Deployment {
        owner: ada(),
        groups: Vec::new(),
        operator: false,
        via: None,
        name: name.parse().unwrap(),
        spec,
        texts: vec![script.to_owned(), String::new()],
    }
}
