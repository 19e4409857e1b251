//! The load of services as a router measures it, for the autoscaler and for drains.

use crate::service::table::EndpointState;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `GET /load` of a router answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RouterLoad {
    /// Of the table that the router has applied.
    pub table_version: u64,
    /// The time since the router began to run, by which its counters are compared.
    pub uptime: Span,
    /// By name, in ascending order.
    pub services: Vec<ServiceLoad>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServiceLoad {
    pub service: String,
    /// Requests without a complete answer, held ones included.
    pub in_flight: u64,
    /// Requests that wait for a ready replica.
    pub held: u64,
    /// All requests since the router has had the service.
    pub requests: u64,
    /// In the order of the table.
    pub endpoints: Vec<EndpointLoad>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndpointLoad {
    pub id: String,
    pub state: EndpointState,
    /// A draining replica with none can be stopped.
    pub in_flight: u64,
}
