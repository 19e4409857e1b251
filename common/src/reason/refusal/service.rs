//! Reasons why a command about a service is refused.

use crate::id::{JobKey, Revision, RoleName, ServiceName};
use crate::reason::bad_request::joined;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a service is not changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[serde(tag = "service_refusal", rename_all = "snake_case")]
pub enum ServiceRefusal {
    #[error("there is no service `{name}`")]
    Unknown { name: ServiceName },
    #[error("service {name} belongs to user {owner}: only they and operators may do that")]
    NotYours { name: ServiceName, owner: String },
    #[error("service {name} is being stopped")]
    Stopping { name: ServiceName },
    #[error("port {port} is that of service {service}")]
    PortTaken { port: u16, service: ServiceName },
    #[error(
        "the `protocol` of service {name} cannot change: while its replicas are replaced, old and \
         new ones run"
    )]
    ProtocolChange { name: ServiceName },
    #[error("service {name} has no role `{role}`")]
    UnknownRole { name: ServiceName, role: RoleName, known: Vec<RoleName> },
    #[error("service {name} has no such revision to return to")]
    UnknownRevision { name: ServiceName, known: Vec<Revision> },
    #[error("role {role} of service {name} has {min} to {max} replicas, {replicas} were asked for")]
    OutOfBounds { name: ServiceName, role: RoleName, replicas: u32, min: u32, max: u32 },
    #[error("role {role} of service {name} has an autoscaling policy, which sets the number")]
    Autoscaled { name: ServiceName, role: RoleName },
    #[error("service {name} has no canaries to promote")]
    NothingToPromote { name: ServiceName },
    #[error("job {key} was a replica of service {name}, which starts another one by itself")]
    IsReplica { key: JobKey, name: ServiceName },
    #[error("a user has at most {most} services")]
    TooMany { most: usize },
}

impl ServiceRefusal {
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown_service",
            Self::NotYours { .. } => "not_yours",
            Self::Stopping { .. } => "service_stopping",
            Self::PortTaken { .. } => "port_taken",
            Self::ProtocolChange { .. } => "protocol_change",
            Self::UnknownRole { .. } => "unknown_role",
            Self::UnknownRevision { .. } => "unknown_revision",
            Self::OutOfBounds { .. } => "out_of_bounds",
            Self::Autoscaled { .. } => "autoscaled",
            Self::NothingToPromote { .. } => "nothing_to_promote",
            Self::IsReplica { .. } => "is_replica",
            Self::TooMany { .. } => "too_many_services",
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let fixed = match self {
            Self::Unknown { .. } => "see `kantctl service list`",
            Self::NotYours { .. } => return None,
            Self::Stopping { .. } => "wait until it is gone, and deploy it again",
            Self::PortTaken { .. } => "choose another `port`",
            Self::ProtocolChange { .. } => "deploy a service of another name beside it",
            Self::UnknownRole { known, .. } => {
                return Some(format!("there are {}", joined(known, ", ")));
            }
            Self::UnknownRevision { known, .. } => {
                return Some(format!("there are {}", joined(known, ", ")));
            }
            Self::OutOfBounds { .. } => "change `min` or `max`, and deploy it again",
            Self::Autoscaled { .. } => {
                "change `min` and `max`, or leave `autoscale` out, and deploy it again"
            }
            Self::NothingToPromote { .. } => "see `kantctl service show`",
            Self::IsReplica { name, .. } => {
                return Some(format!("see `kantctl service show {name}`"));
            }
            Self::TooMany { .. } => "stop some of them",
        };
        Some(fixed.to_owned())
    }
}
