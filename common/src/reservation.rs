//! An operator's booking: nodes kept for somebody, or for nobody, for a time. Never keeps them
//! free itself; the engine does.

use crate::id::{NodeName, ReservationName, Uid};
use crate::policy::Access;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A reservation (man scontrol, RESERVATIONS). Its nodes are named when it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    pub name: ReservationName,
    pub nodes: BTreeSet<NodeName>,
    pub from: Time,
    /// To; jobs of the reservation end by then as well.
    pub to: Time,
    /// Who may use it (`--reservation`); nobody during maintenance.
    #[serde(default)]
    pub access: Access,
    /// A maintenance window: no job at all.
    #[serde(default)]
    pub maintenance: bool,
    pub by: Uid,
    /// A word about it.
    #[serde(default)]
    pub comment: String,
}
