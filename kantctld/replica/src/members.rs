//! The members of the log. They change only by an applied entry or an installed snapshot, and every
//! snapshot has a copy.

use common::id::{ClusterId, ControllerId};
use raft::eraftpb::ConfState;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A member as the others know it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Member {
    /// The host's name, for display.
    pub name: String,
    /// Host and port for other controllers and nodes.
    pub address: String,
    /// Whether it is promoted automatically once it has caught up.
    pub becomes_voter: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Members {
    /// 0 before a member knows its cluster.
    pub cluster: ClusterId,
    /// The highest id assigned so far.
    pub last: ControllerId,
    /// All members, including those that only leave a joint configuration.
    pub known: BTreeMap<ControllerId, Member>,
    pub voters: Vec<u64>,
    pub learners: Vec<u64>,
    /// The voters of the old configuration during a joint one, which needs both majorities.
    pub voters_outgoing: Vec<u64>,
    /// Voters that become learners when the joint configuration ends.
    pub learners_next: Vec<u64>,
    /// Whether the joint configuration ends automatically.
    pub auto_leave: bool,
}

impl Members {
    /// A cluster with one member.
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

    /// Whether this member votes, or will after a joint configuration.
    #[must_use]
    pub fn votes(&self, id: ControllerId) -> bool {
        self.voters.contains(&id.0)
    }

    /// Whether it is or becomes a learner.
    #[must_use]
    pub fn learns(&self, id: ControllerId) -> bool {
        self.learners.contains(&id.0) || self.learners_next.contains(&id.0)
    }

    /// Whether a change of voters is in progress.
    #[must_use]
    pub fn is_joint(&self) -> bool {
        !self.voters_outgoing.is_empty()
    }

    /// Whether it is a member.
    #[must_use]
    pub fn has(&self, id: ControllerId) -> bool {
        self.votes(id) || self.learns(id) || self.voters_outgoing.contains(&id.0)
    }

    /// Checks what the library assumes about members.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let lists = [&self.voters, &self.learners, &self.voters_outgoing, &self.learners_next];
        let is_set = |list: &&Vec<u64>| {
            let ids: BTreeSet<u64> = list.iter().copied().collect();
            !ids.contains(&0) && ids.len() == list.len()
        };
        let votes = |id: &u64| self.voters.contains(id) || self.voters_outgoing.contains(id);
        if !lists.iter().all(is_set) {
            return Err("a member is listed twice");
        }
        if self.voters.is_empty() && !lists.iter().all(|list| list.is_empty()) {
            return Err("there is no voter");
        }
        if self.learners.iter().any(votes) {
            return Err("a member is both a voter and a learner");
        }
        if !self.learners_next.iter().all(|id| self.voters_outgoing.contains(id)) {
            return Err("a future learner was never a voter");
        }
        let is_left = !self.is_joint() && (self.auto_leave || !self.learners_next.is_empty());
        if is_left { Err("a completed change has remains") } else { Ok(()) }
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

    /// Replaces the configuration, and drops data of former members.
    pub(crate) fn set_conf_state(&mut self, conf: ConfState) {
        self.voters = conf.voters;
        self.learners = conf.learners;
        self.voters_outgoing = conf.voters_outgoing;
        self.learners_next = conf.learners_next;
        self.auto_leave = conf.auto_leave;
        // The library returns them in the order of a hash table.
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
    fn impossible_members_are_refused() {
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
