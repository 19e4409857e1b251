//! The specification of a service: one revision.

use super::UpdatePolicy;
use super::table::{FieldName, Hold, Protocol, TokenHash};
use crate::autoscale::{Metric, Policy, RatioBand, Rule};
use crate::blob::BlobHash;
use crate::id::{Ordinal, PortName, RoleName};
use crate::job::{Ask, Metrics, MetricsSource, Probes};
use crate::serde_skip::is_default;
use crate::time::Span;
use crate::topology::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The fewest and the most replicas of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    pub min: u32,
    pub max: u32,
}

impl Bounds {
    /// The nearest count within the bounds.
    #[must_use]
    pub const fn clamp(self, count: u32) -> u32 {
        if count < self.min {
            self.min
        } else if count > self.max {
            self.max
        } else {
            count
        }
    }
}

/// A role: equal replicas of one program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoleSpec {
    pub name: RoleName,
    /// The request of each replica.
    pub ask: Ask,
    pub script: BlobHash,
    /// `NAME=value` pairs, each terminated by NUL.
    pub environment: BlobHash,
    /// Replicas up to `min` are as preemptible as their queue says. Those above may always be
    /// preempted, so that they may borrow what other queues do not use.
    pub replicas: Bounds,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortName>,
    #[serde(default)]
    pub probes: Probes,
    /// Where each replica's engine reports its load, for the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsSource>,
    /// How the number of replicas is chosen between the bounds; `None`: by users alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscale: Option<Policy>,
}

impl RoleSpec {
    /// What nodes measure of its replicas. `None`: nothing.
    #[must_use]
    pub fn node_metrics(&self) -> Option<Metrics> {
        let metric = self.metric();
        let metrics =
            Metrics { engine: self.metrics.clone(), gpu_usage: metric == Some(Metric::GpuUsage) };
        (metrics != Metrics::default()).then_some(metrics)
    }

    /// The metric of the rule `utilisation`.
    #[must_use]
    pub fn metric(&self) -> Option<Metric> {
        match &self.autoscale.as_ref()?.rule {
            Rule::Utilisation(rule) => Some(rule.metric),
            _ => None,
        }
    }
}

/// Two roles that need each other, prefill and decode, and the permitted numbers of the first for
/// each of the second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RatioSpec {
    pub prefill: RoleName,
    pub decode: RoleName,
    pub band: RatioBand,
}

/// How the first `min` replicas of each role start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// Each for itself, as those beyond the minimum do.
    #[default]
    Single,
    /// All of them together, or none. Source: `min_available` of a PodGang in NVIDIA's Grove.
    Gang,
}

/// One revision of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceSpec {
    pub roles: Vec<RoleSpec>,
    /// How the first `min` replicas of each role start when none of them is there.
    #[serde(default, skip_serializing_if = "is_default")]
    pub base: Base,
    /// With [`Base::Gang`]: the nodes of the base are below one switch of this level, if that is
    /// possible when it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<Level>,
    /// The port of the service on the nodes that run a router; `None`: no router serves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The role whose replicas the router sends requests to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<RoleName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<RatioSpec>,
    /// What the replicas of the entry role speak with routers; the same in all revisions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub protocol: Protocol,
    /// Requests with the same value of this header go to the same replica, if its load permits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<FieldName>,
    /// What routers do with requests while no replica is ready.
    #[serde(default)]
    pub hold: Hold,
    /// Requests need the access token with this hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenHash>,
    /// The time between leaving the discovery and SIGTERM.
    pub drain_delay: Span,
    #[serde(default)]
    pub update: UpdatePolicy,
}

impl ServiceSpec {
    #[must_use]
    pub fn role(&self, name: &RoleName) -> Option<&RoleSpec> {
        self.roles.iter().find(|role| role.name == *name)
    }

    /// The places of the base that start together, in the order of the roles. Empty: none do.
    pub fn gang(&self) -> impl Iterator<Item = (&RoleSpec, Ordinal)> + '_ {
        let roles = self.roles.iter().filter(|_| self.base == Base::Gang);
        roles.flat_map(|role| (0..role.replicas.min).map(move |place| (role, Ordinal(place))))
    }

    /// The role whose replicas the router sends requests to: the named one, or the first with
    /// ports.
    #[must_use]
    pub fn entry_role(&self) -> Option<&RoleSpec> {
        match &self.entry {
            Some(name) => self.role(name),
            None => self.roles.iter().find(|role| !role.ports.is_empty()),
        }
    }

    /// The hashes of all scripts and environments, one for each use.
    pub fn blob_hashes(&self) -> impl Iterator<Item = BlobHash> + '_ {
        self.roles.iter().flat_map(|role| [role.script, role.environment])
    }
}
