//! Reservations: nodes kept for certain users, or for maintenance, over a period.

use crate::id::{NodeName, ReservationName, Uid};
use crate::policy::Access;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A reservation (man scontrol, RESERVATIONS). Its nodes are fixed when it is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reservation {
    pub name: ReservationName,
    pub nodes: BTreeSet<NodeName>,
    pub from: Time,
    /// The end, by which jobs in the reservation end as well.
    pub to: Time,
    /// The access (`--reservation`); without effect during maintenance.
    #[serde(default)]
    pub access: Access,
    /// A maintenance window, in which no job runs.
    #[serde(default)]
    pub maintenance: bool,
    pub by: Uid,
    #[serde(default)]
    pub comment: String,
}
