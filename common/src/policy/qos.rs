//! A quality of service: a priority and bounds that jobs choose across queues (`--qos`).
//! Never orders anything; that is the engine's.

use crate::id::QosName;
use crate::policy::{Access, Limits};
use crate::time::Span;
use serde::{Deserialize, Serialize};

/// A quality of service (man sacctmgr, QOS).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qos {
    pub name: QosName,
    /// Higher goes first, within the queue's priority.
    #[serde(default)]
    pub priority: i32,
    /// Who may use it.
    #[serde(default)]
    pub access: Access,
    /// Its jobs may be made to yield; `None`: as the queue says.
    #[serde(default)]
    pub preemptible: Option<bool>,
    /// The longest time limit a job of it may ask for.
    #[serde(default)]
    pub time_limit_max: Option<Span>,
    /// Bounds on all its jobs together.
    #[serde(default)]
    pub limits: Limits,
    /// Bounds on its jobs of one user.
    #[serde(default)]
    pub limits_per_user: Limits,
}
