//! A replica: what a job knows of its service, and what its node reports of it.

use super::probe::Probes;
use crate::id::{AttemptId, Ordinal, PortName, Revision, RoleName, ServiceName};
use crate::serde_skip::is_default;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The part of a job's request that makes it a replica of a service. Set by the controller only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replica {
    pub service: ServiceName,
    pub role: RoleName,
    pub revision: Revision,
    pub ordinal: Ordinal,
    /// The node gives it one port for each, whose number is in its environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortName>,
    #[serde(default)]
    pub probes: Probes,
    /// What its node measures for autoscaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// The time between leaving the discovery and SIGTERM, for requests that are still answered.
    #[serde(default)]
    pub drain_delay: Span,
}

/// What is measured of a replica for autoscaling.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Metrics {
    /// Its engine is asked for its metrics, in the text format of Prometheus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<MetricsSource>,
    /// How busy its GPUs are is read from the driver.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gpu_usage: bool,
}

/// Where an engine reports its metrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricsSource {
    pub port: PortName,
    /// Begins with `/`.
    pub path: String,
}

/// `chat/worker.3`
impl fmt::Display for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}.{}", self.service, self.role, self.ordinal)
    }
}

/// A port of a replica on its first node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortGrant {
    pub name: PortName,
    pub number: u16,
}

/// What probes say of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplicaHealth {
    /// Its startup probe has not succeeded yet.
    Starting,
    /// It takes requests.
    Ready,
    /// It runs, and takes no requests.
    NotReady,
    /// It is being stopped, and takes no new requests.
    Draining,
}

impl ReplicaHealth {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::NotReady => "not ready",
            Self::Draining => "draining",
        }
    }
}

/// A node's report on one replica: sent when it changes, and for all replicas on every connect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaStatus {
    pub id: AttemptId,
    pub health: ReplicaHealth,
    pub ports: Vec<PortGrant>,
    /// Why its last probe failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
