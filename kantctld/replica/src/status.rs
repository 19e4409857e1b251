//! How a replica stands, for operators and for those who look for the leader. Never changes it.

use crate::machine::Machine;
use crate::members::Members;
use crate::replica::Replica;
use common::id::{ControllerId, LogIndex};
use raft::StateRole;
use wal::Disk;

/// What a replica is at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It decides, with a majority.
    Leader,
    /// It follows a leader, or waits for one.
    Follower,
    /// It stands for election.
    Candidate,
}

/// How a leader sees another replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follower {
    pub id: ControllerId,
    /// The last entry it is known to hold.
    pub holds: LogIndex,
    /// It was heard of within the last election time-out.
    pub is_heard: bool,
    /// It is being sent a snapshot.
    pub gets_snapshot: bool,
}

/// How a replica stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    pub id: ControllerId,
    pub role: Role,
    /// It leads, and knows everything decided before.
    pub leads: bool,
    /// The election it knows of.
    pub term: u64,
    /// Who leads, as far as it knows.
    pub leader: Option<ControllerId>,
    /// The last entry in its log.
    pub last: LogIndex,
    /// The last entry decided, as far as it knows.
    pub committed: LogIndex,
    /// The last entry applied.
    pub applied: LogIndex,
    /// The last entry in its newest snapshot.
    pub snapshot: LogIndex,
    pub members: Members,
    /// The others, rising; empty unless it leads.
    pub followers: Vec<Follower>,
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// How it stands now.
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
                is_heard: progress.recent_active,
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
            followers,
        }
    }

    /// Who leads, as far as it knows.
    pub fn leader(&self) -> Option<ControllerId> {
        let leader = self.node.raft.leader_id;
        (leader != raft::INVALID_ID).then_some(ControllerId(leader))
    }

    pub fn members(&self) -> &Members {
        &self.node.store().members
    }

    /// It leads, and knows everything decided before.
    pub fn leads(&self) -> bool {
        self.leading
    }

    /// The last entry applied.
    pub fn applied(&self) -> LogIndex {
        LogIndex(self.applied)
    }

    /// What the log drives.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The same, to be told something that is not in the log.
    pub fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }
}
