//! The routing table: which replicas answer the requests to the address of each service. It is
//! computed elsewhere, and a router applies each version as a whole.

mod check;
mod text;

use core::net::SocketAddr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::TableError;
pub use text::{FieldName, TextError, TokenHash};

/// All services that one router serves. The default is an empty table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Grows with each change. It is shown to operators; a router applies any table that differs
    /// from the one it has.
    pub version: u64,
    #[serde(default)]
    pub services: Vec<Route>,
}

/// One service: its address, and the replicas behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The name of the service, unique in the table.
    pub service: String,
    /// The address for clients, unique in the table. Port 0 stands for any free port.
    pub listen: SocketAddr,
    #[serde(default)]
    pub endpoints: Vec<Endpoint>,
    /// Requests with the same value of this header go to the same replica if its load permits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<FieldName>,
    /// What happens to requests while no replica is ready.
    #[serde(default)]
    pub hold: Hold,
    /// How long requests in flight may still take when the router stops. The controller gives a
    /// draining replica the same time.
    #[serde(default = "default_drain_seconds")]
    pub drain_seconds: u32,
    /// If set, a request needs the access token with this hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenHash>,
    /// What the replicas speak.
    #[serde(default)]
    pub protocol: Protocol,
}

/// One replica of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// `role/ordinal.attempt`, unique in the service.
    pub id: String,
    pub addr: SocketAddr,
    pub state: EndpointState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndpointState {
    /// Gets requests.
    Ready,
    /// Finishes its requests, and gets no new ones.
    Draining,
    /// Gets no requests yet.
    NotReady,
}

/// The bounds on requests that wait for a ready replica. The default holds none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// At most this many requests of a service wait; others are refused at once.
    pub requests_max: u32,
    /// The longest wait of one request.
    pub seconds_max: u32,
}

/// The protocol between router and replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2 without TLS, with prior knowledge (gRPC).
    H2c,
}

const fn default_drain_seconds() -> u32 {
    30
}

impl Endpoint {
    /// The id without the attempt: a replica that was restarted has the same place.
    #[must_use]
    pub fn id_without_attempt(&self) -> &str {
        self.id.rsplit_once('.').map_or(self.id.as_str(), |(place, _)| place)
    }
}

#[cfg(test)]
mod tests;
