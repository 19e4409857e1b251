//! What happened to a service, for its users.

use crate::autoscale::Reason;
use crate::id::{JobId, Ordinal, Revision, RoleName, Uid};
use crate::job::Outcome;
use crate::reason::Refusal;
use crate::time::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of events that are kept for each service.
pub const EVENTS_KEPT: usize = 100;

/// Who or what changed the number of replicas of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScaledBy {
    /// The role's autoscaling policy.
    Policy(Box<Reason>),
    User(Uid),
    /// A new revision with other bounds.
    Revision(Revision),
}

/// Why a replica was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Fewer replicas are wanted.
    ScaledDown,
    /// A replica of another revision, or on another node, takes its place.
    Replaced,
    /// The service is stopped.
    ServiceStopped,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ScaledDown => "fewer replicas are wanted",
            Self::Replaced => "another replica takes its place",
            Self::ServiceStopped => "the service was stopped",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceEventKind {
    Deployed {
        revision: Revision,
        by: Uid,
    },
    RolledBack {
        to: Revision,
        by: Uid,
    },
    Scaled {
        role: RoleName,
        from: u32,
        to: u32,
        by: ScaledBy,
    },
    Paused {
        by: Uid,
    },
    Resumed {
        by: Uid,
    },
    Promoted {
        revision: Revision,
        by: Uid,
    },
    StopRequested {
        by: Uid,
    },
    ReplicaStarted {
        role: RoleName,
        ordinal: Ordinal,
        revision: Revision,
        job: JobId,
    },
    ReplicaRefused {
        role: RoleName,
        revision: Revision,
        refusal: Box<Refusal>,
    },
    ReplicaStopped {
        role: RoleName,
        ordinal: Ordinal,
        job: JobId,
        why: StopReason,
    },
    ReplicaEnded {
        role: RoleName,
        ordinal: Ordinal,
        job: JobId,
        outcome: Outcome,
    },
    /// It failed too often in a row.
    ReplicaHeld {
        role: RoleName,
        ordinal: Ordinal,
        failures: u32,
        /// Its last job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobId>,
    },
    /// All replicas are of this revision, and healthy.
    UpdateComplete {
        revision: Revision,
    },
    UpdateFailed {
        revision: Revision,
        why: UpdateFailure,
        reverts_to: Option<Revision>,
    },
}

/// Why an update failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UpdateFailure {
    /// This replica was not healthy within `healthy_deadline`.
    NotHealthy { role: RoleName, ordinal: Ordinal, deadline: Span },
    /// No further replica became healthy within `progress_deadline`.
    NoProgress { deadline: Span },
    /// This replica failed repeatedly.
    ReplicaFailed { role: RoleName, ordinal: Ordinal, failures: u32 },
}

impl fmt::Display for UpdateFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHealthy { role, ordinal, deadline } => {
                write!(f, "replica {role}.{ordinal} was not healthy within {deadline}")
            }
            Self::NoProgress { deadline } => {
                write!(f, "no further replica became healthy within {deadline}")
            }
            Self::ReplicaFailed { role, ordinal, failures } => {
                write!(f, "replica {role}.{ordinal} failed {failures} times in a row")
            }
        }
    }
}

/// An event of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceEvent {
    pub at: Time,
    pub kind: ServiceEventKind,
}

impl ServiceEventKind {
    /// The user that caused it, if one did.
    #[must_use]
    pub const fn by(&self) -> Option<Uid> {
        match self {
            Self::Deployed { by, .. }
            | Self::RolledBack { by, .. }
            | Self::Scaled { by: ScaledBy::User(by), .. }
            | Self::Paused { by }
            | Self::Resumed { by }
            | Self::Promoted { by, .. }
            | Self::StopRequested { by } => Some(*by),
            _ => None,
        }
    }
}

impl fmt::Display for ServiceEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deployed { revision, .. } => write!(f, "revision {revision} was deployed"),
            Self::RolledBack { to, .. } => write!(f, "rolled back to revision {to}"),
            Self::Scaled { role, from, to, by } => {
                write!(f, "role {role} scaled from {from} to {to} replicas")?;
                match by {
                    ScaledBy::User(_) => Ok(()),
                    ScaledBy::Policy(reason) => write!(f, ": {reason}"),
                    ScaledBy::Revision(revision) => write!(f, " by revision {revision}"),
                }
            }
            Self::Paused { .. } => f.write_str("paused"),
            Self::Resumed { .. } => f.write_str("resumed"),
            Self::Promoted { revision, .. } => write!(f, "revision {revision} was promoted"),
            Self::StopRequested { .. } => f.write_str("stop requested"),
            Self::ReplicaStarted { role, ordinal, revision, job } => {
                write!(f, "replica {role}.{ordinal} of revision {revision} submitted as job {job}")
            }
            Self::ReplicaRefused { role, revision, refusal } => {
                let why = refusal.text_with_hint();
                write!(f, "failed to submit a replica of {role}, revision {revision}: {why}")
            }
            Self::ReplicaStopped { role, ordinal, job, why } => {
                write!(f, "replica {role}.{ordinal} (job {job}) is stopped: {why}")
            }
            Self::ReplicaEnded { role, ordinal, job, outcome } => {
                write!(
                    f,
                    "replica {role}.{ordinal} (job {job}) ended: {outcome}; its output: `kantctl \
                     logs {job}`"
                )
            }
            Self::ReplicaHeld { role, ordinal, failures, .. } => {
                write!(
                    f,
                    "replica {role}.{ordinal} is held after {failures} failures in a row: deploy \
                     another revision, or `kantctl service resume`"
                )
            }
            Self::UpdateComplete { revision } => {
                write!(f, "all replicas are of revision {revision}, and healthy")
            }
            Self::UpdateFailed { revision, why, reverts_to } => {
                write!(f, "the update to revision {revision} failed: {why}; ")?;
                match reverts_to {
                    Some(to) => write!(f, "returning to revision {to}"),
                    None => f.write_str("it is paused"),
                }
            }
        }
    }
}
