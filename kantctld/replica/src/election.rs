//! How long a replica waits before it stands for election: by seed, not by the library's own
//! randomness, so that equal seeds give equal histories. Never counts; the library does.

use crate::machine::Machine;
use crate::replica::Replica;
use raft::StateRole;
use wal::Disk;

/// Ticks without a leader before an election, at least; at most twice as many.
pub(crate) const ELECTION_TICKS: usize = 12;
/// Ticks between two heartbeats.
pub(crate) const HEARTBEAT_TICKS: usize = 2;

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// The library draws anew with each term and role; this draw takes the place of its own.
    pub(crate) fn set_patience(&mut self) {
        let raft = &mut self.node.raft;
        let role = match raft.state {
            StateRole::Follower => 0,
            StateRole::PreCandidate => 1,
            StateRole::Candidate => 2,
            StateRole::Leader => 3,
        };
        let drawn = mix(self.seed ^ mix(raft.id) ^ mix(raft.term.wrapping_mul(4) + role));
        let more = usize::try_from(drawn % ELECTION_TICKS as u64).unwrap_or(0);
        raft.set_randomized_election_timeout(ELECTION_TICKS + more);
    }

    /// A lone voter need not wait for an election time-out.
    pub(crate) fn campaign_if_alone(&mut self) -> Result<(), raft::Error> {
        let members = &self.node.store().members;
        if members.voters == [self.node.raft.id] && !members.is_joint() {
            self.node.campaign()?;
        }
        Ok(())
    }
}

/// Spreads bits (the finalizer of splitmix64; G. Steele et al., OOPSLA 2014).
fn mix(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
