//! All policy of a cluster in one place: what the engine reads beside nodes and jobs. Never
//! changes by itself; a new one comes with new settings.

use super::{Factors, Moves, YieldsFirst};
use crate::policy::account::Account;
use crate::policy::qos::Qos;
use crate::policy::queue::Queue;
use crate::topology::Topology;
use serde::{Deserialize, Serialize};

/// All policy of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// The queues, none twice, parents known and without cycles.
    pub queues: Vec<Queue>,
    /// The QoS, none twice.
    pub qos: Vec<Qos>,
    /// The accounts, none twice. None: any account may be named, without bounds.
    pub accounts: Vec<Account>,
    /// The queues share what there is fairly, down their tree, instead of each by its quota alone.
    pub fair_sharing: bool,
    /// Who of those alike yields first then.
    #[serde(skip_serializing_if = "YieldsFirst::is_usual")]
    pub yields_first: YieldsFirst,
    /// The weights of multifactor priority.
    pub factors: Factors,
    /// How often running jobs move.
    #[serde(skip_serializing_if = "Moves::is_usual")]
    pub moves: Moves,
    pub topology: Topology,
}

impl Policy {
    /// Is anybody ever moved so that others have room?
    #[must_use]
    pub const fn may_move(&self) -> bool {
        self.fair_sharing && !self.moves.is_off()
    }
}
