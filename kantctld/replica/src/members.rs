//! Who takes part in the log: replicated by entries that change it, and kept in every snapshot.
//! Never changed but by an applied entry or an installed snapshot.

use common::id::{ClusterId, ControllerId};
use raft::eraftpb::ConfState;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
    pub voters: Vec<u64>,
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

    /// What the library takes for granted of those who take part.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let lists = [&self.voters, &self.learners, &self.voters_outgoing, &self.learners_next];
        let is_set = |list: &&Vec<u64>| {
            let ids: BTreeSet<u64> = list.iter().copied().collect();
            !ids.contains(&0) && ids.len() == list.len()
        };
        let votes = |id: &u64| self.voters.contains(id) || self.voters_outgoing.contains(id);
        if !lists.iter().all(is_set) {
            return Err("a member is named twice");
        }
        if self.voters.is_empty() && !lists.iter().all(|list| list.is_empty()) {
            return Err("nobody votes");
        }
        if self.learners.iter().any(votes) {
            return Err("a member votes and does not");
        }
        if !self.learners_next.iter().all(|id| self.voters_outgoing.contains(id)) {
            return Err("a member will only listen that never voted");
        }
        let is_left = !self.is_joint() && (self.auto_leave || !self.learners_next.is_empty());
        if is_left { Err("a change is over and not over") } else { Ok(()) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_no_change_leads_to_are_not_believed() {
        let founded = Members::founding(ClusterId(7), ControllerId(1), Member::default());
        let joint = Members { voters_outgoing: vec![2], auto_leave: true, ..founded.clone() };
        for fine in [Members::default(), founded.clone(), joint.clone()] {
            assert_eq!(fine.check(), Ok(()));
        }
        let unsound = [
            Members { voters: vec![1, 1], ..founded.clone() },
            Members { learners: vec![0], ..founded.clone() },
            Members { learners: vec![1], ..founded.clone() },
            Members { learners: vec![2], ..joint.clone() },
            Members { learners_next: vec![3], ..joint },
            Members { voters: Vec::new(), learners: vec![1], ..founded.clone() },
            Members { auto_leave: true, ..founded },
        ];
        for members in unsound {
            assert!(members.check().is_err(), "{members:?}");
        }
    }
}
