//! Judge of elections: in each term, a controller votes for one candidate, across its restarts. It
//! sees only what controllers send.

use super::Complaint;
use common::id::ControllerId;
use replica::votes::vote_in;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct VoteJudge {
    /// The candidate of a controller in a term.
    votes: BTreeMap<(ControllerId, u64), ControllerId>,
}

impl VoteJudge {
    /// Records a message as its sender sends it. Returns whether it grants another controller a
    /// vote.
    pub fn look(
        &mut self,
        from: ControllerId,
        message: &[u8],
        complaints: &mut Vec<Complaint>,
    ) -> bool {
        let Some(vote) = vote_in(from, message) else { return false };
        let (term, candidate) = (vote.term, vote.candidate);
        let first = *self.votes.entry((from, term)).or_insert(candidate);
        if first != candidate {
            let text = format!("c{from} voted in term {term} for c{first}, then for c{candidate}");
            complaints.push(Complaint::new("one-vote", text));
        }
        candidate != from
    }
}
