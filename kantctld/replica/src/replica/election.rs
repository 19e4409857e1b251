//! Election time-outs drawn from a seed instead of the library's own randomness, so that equal
//! seeds give equal histories.

use super::Replica;
use crate::machine::Machine;
use raft::StateRole;
use wal::Disk;

/// The shortest election time-out in ticks; the longest is less than twice as long.
pub(super) const ELECTION_TICKS: usize = 12;
/// Ticks between heartbeats.
pub(super) const HEARTBEAT_TICKS: usize = 2;

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// Replaces the time-out that the library draws for each term and role.
    pub(super) fn set_election_timeout(&mut self) {
        let raft = &mut self.node.raft;
        let role = match raft.state {
            StateRole::Follower => 0,
            StateRole::PreCandidate => 1,
            StateRole::Candidate => 2,
            StateRole::Leader => 3,
        };
        let drawn =
            mix_bits(self.seed ^ mix_bits(raft.id) ^ mix_bits(raft.term.wrapping_mul(4) + role));
        let more = usize::try_from(drawn % ELECTION_TICKS as u64).unwrap_or(0);
        raft.set_randomized_election_timeout(ELECTION_TICKS + more);
    }

    /// Starts an election at once if this is the only voter.
    pub(super) fn campaign_if_alone(&mut self) -> Result<(), raft::Error> {
        let members = &self.node.store().members;
        if members.voters == [self.node.raft.id] && !members.is_joint() {
            self.node.campaign()?;
        }
        Ok(())
    }
}

/// Mixes bits (the finalizer of splitmix64; G. Steele et al., OOPSLA 2014).
fn mix_bits(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
