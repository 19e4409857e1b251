//! Who takes part in the log: replicated by entries that change it, and kept in every snapshot.
//! Never changed but by an applied entry or an installed snapshot.

use common::id::{ClusterId, ControllerId};
use raft::eraftpb::ConfState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One controller, as the others know it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Member {
    /// Its host's name, for people.
    pub name: String,
    /// Host and port where the others, and nodes, reach it.
    pub address: String,
    /// It becomes a voter by itself once it has caught up.
    #[serde(default)]
    pub becomes_voter: bool,
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Members {
    /// Which cluster; 0 for one founded before there were ids.
    #[serde(default)]
    pub cluster: ClusterId,
    /// The highest id ever given.
    #[serde(default)]
    pub last: ControllerId,
    /// Those that take part; one that only leaves a joint configuration is still here.
    #[serde(default)]
    pub known: BTreeMap<ControllerId, Member>,
    /// Who votes.
    pub voters: Vec<u64>,
    /// Who only listens.
    #[serde(default)]
    pub learners: Vec<u64>,
    /// Who voted before the change under way; both majorities decide until it is over.
    #[serde(default)]
    pub voters_outgoing: Vec<u64>,
    /// Who will only listen after the change under way.
    #[serde(default)]
    pub learners_next: Vec<u64>,
    /// The change under way ends by itself.
    #[serde(default)]
    pub auto_leave: bool,
}

impl Members {
    /// A cluster of one.
    #[must_use]
    pub fn founding(cluster: ClusterId, id: ControllerId, member: Member) -> Self {
        Self {
            cluster,
            last: id,
            known: BTreeMap::from([(id, member)]),
            voters: vec![id.0],
            ..Self::default()
        }
    }

    /// Does this controller vote, or will it once the change under way is over?
    #[must_use]
    pub fn votes(&self, id: ControllerId) -> bool {
        self.voters.contains(&id.0)
    }

    /// Does it only listen?
    #[must_use]
    pub fn learns(&self, id: ControllerId) -> bool {
        self.learners.contains(&id.0) || self.learners_next.contains(&id.0)
    }

    /// Is a change of voters under way?
    #[must_use]
    pub fn is_joint(&self) -> bool {
        !self.voters_outgoing.is_empty()
    }

    /// Has it any part in this cluster?
    #[must_use]
    pub fn has(&self, id: ControllerId) -> bool {
        self.votes(id) || self.learns(id) || self.voters_outgoing.contains(&id.0)
    }

    pub(crate) fn conf_state(&self) -> ConfState {
        ConfState {
            voters: self.voters.clone(),
            learners: self.learners.clone(),
            voters_outgoing: self.voters_outgoing.clone(),
            learners_next: self.learners_next.clone(),
            auto_leave: self.auto_leave,
            ..ConfState::default()
        }
    }

    /// Takes over who votes; those who have no part any more are forgotten.
    pub(crate) fn set_conf_state(&mut self, conf: ConfState) {
        self.voters = conf.voters;
        self.learners = conf.learners;
        self.voters_outgoing = conf.voters_outgoing;
        self.learners_next = conf.learners_next;
        self.auto_leave = conf.auto_leave;
        // The library gives them in the order of a hash table.
        for list in [
            &mut self.voters,
            &mut self.learners,
            &mut self.voters_outgoing,
            &mut self.learners_next,
        ] {
            list.sort_unstable();
        }
        let mut known = std::mem::take(&mut self.known);
        known.retain(|id, _| self.has(*id));
        self.known = known;
    }
}
