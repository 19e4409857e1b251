//! The controllers as this one sees them.

use crate::raft::{Member, Status};
use common::id::ControllerId;
use common::wire::api::{ControllerList, ControllerRole, ControllerView};

pub fn view(status: &Status) -> ControllerList {
    let one = |(id, member): (&ControllerId, &Member)| {
        let follower = status.followers.iter().find(|follower| follower.id == *id);
        let is_local = *id == status.id;
        let holds = follower.map(|f| f.holds).or(is_local.then_some(status.last));
        let role = match (status.members.votes(*id), member.becomes_voter) {
            (true, _) if status.leader == Some(*id) => ControllerRole::Leader,
            (true, _) => ControllerRole::Voter,
            (false, true) => ControllerRole::Joining,
            (false, false) => ControllerRole::Learner,
        };
        ControllerView {
            id: *id,
            name: member.name.clone(),
            address: member.address.clone(),
            role,
            holds,
            behind: holds.map(|holds| status.committed.0.saturating_sub(holds.0)),
            heard: follower.map(|f| f.is_active).or(is_local.then_some(true)),
            gets_snapshot: follower.is_some_and(|f| f.gets_snapshot),
        }
    };
    ControllerList {
        cluster: status.members.cluster,
        answering: status.id,
        leader: status.leader,
        term: status.term,
        committed: status.committed,
        changing: status.members.is_joint(),
        controllers: status.members.known.iter().map(one).collect(),
        moving: Vec::new(),
    }
}
