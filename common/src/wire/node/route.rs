//! Services for a router on a node. The node resolves the names of hosts, and gives the router a
//! table of addresses ([`crate::service::table`]).

use crate::id::ServiceName;
use crate::serde_skip::is_default;
use crate::service::table::{EndpointState, FieldName, Hold, Protocol, TokenHash};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteOrder {
    pub service: ServiceName,
    /// The port on which the router accepts requests.
    pub port: u16,
    pub endpoints: Vec<EndpointOrder>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<FieldName>,
    pub hold: Hold,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenHash>,
    pub drain_seconds: u32,
    /// What the replicas speak.
    #[serde(default, skip_serializing_if = "is_default")]
    pub protocol: Protocol,
}

/// One replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndpointOrder {
    /// `role/ordinal.attempt`.
    pub id: String,
    /// A name or address.
    pub host: String,
    pub port: u16,
    pub state: EndpointState,
}
