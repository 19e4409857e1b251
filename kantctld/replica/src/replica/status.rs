//! The status of a replica, for operators and for requests that need the leader.

use super::Replica;
use crate::machine::Machine;
use crate::members::Members;
use common::id::{ControllerId, LogIndex};
use common::wire::peer::StateSum;
use raft::StateRole;
use wal::Disk;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It leads, with a majority.
    Leader,
    /// It follows a leader or waits for one.
    Follower,
    /// It is a candidate in an election.
    Candidate,
}

/// A follower as the leader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follower {
    pub id: ControllerId,
    /// The last entry it is known to have.
    pub holds: LogIndex,
    /// It was active within the last election time-out.
    pub is_active: bool,
    /// It is receiving a snapshot.
    pub gets_snapshot: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    pub id: ControllerId,
    pub role: Role,
    /// It leads and has applied everything committed before.
    pub leads: bool,
    /// The latest term it knows.
    pub term: u64,
    /// The leader it knows.
    pub leader: Option<ControllerId>,
    /// The last entry in its log.
    pub last: LogIndex,
    /// The last entry known to be committed.
    pub committed: LogIndex,
    pub applied: LogIndex,
    /// The last entry in its newest snapshot.
    pub snapshot: LogIndex,
    pub members: Members,
    /// Its latest checksum of the state.
    pub sum: Option<StateSum>,
    /// Sorted by id; empty unless it leads.
    pub followers: Vec<Follower>,
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    pub fn status(&self) -> Status {
        let raft = &self.node.raft;
        let role = match raft.state {
            StateRole::Leader => Role::Leader,
            StateRole::Follower => Role::Follower,
            StateRole::Candidate | StateRole::PreCandidate => Role::Candidate,
        };
        let others = raft.prs().iter().filter(|(id, _)| role == Role::Leader && **id != raft.id);
        let mut followers: Vec<Follower> = others
            .map(|(id, progress)| Follower {
                id: ControllerId(*id),
                holds: LogIndex(progress.matched),
                is_active: progress.recent_active,
                gets_snapshot: progress.state == raft::ProgressState::Snapshot,
            })
            .collect();
        followers.sort_unstable_by_key(|follower| follower.id);
        Status {
            id: ControllerId(raft.id),
            role,
            leads: self.leading,
            term: raft.term,
            leader: self.leader(),
            last: LogIndex(raft.raft_log.last_index()),
            committed: LogIndex(raft.raft_log.committed),
            applied: LogIndex(self.applied),
            snapshot: LogIndex(self.node.store().snapshot_index),
            members: self.node.store().members.clone(),
            sum: self.comparison.sums.latest(),
            followers,
        }
    }

    /// The leader it knows.
    pub fn leader(&self) -> Option<ControllerId> {
        let leader = self.node.raft.leader_id;
        (leader != raft::INVALID_ID).then_some(ControllerId(leader))
    }

    pub fn members(&self) -> &Members {
        &self.node.store().members
    }

    /// Whether it leads and has applied everything committed before.
    pub fn leads(&self) -> bool {
        self.leading
    }

    pub fn applied(&self) -> LogIndex {
        LogIndex(self.applied)
    }

    pub fn machine(&self) -> &M {
        &self.machine
    }

    pub fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }
}
