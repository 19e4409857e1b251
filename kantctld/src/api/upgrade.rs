//! GET /v1/upgrade: what runs where, and the next step of an upgrade.

use super::error::ApiFailure;
use crate::clock::uptime;
use crate::core::Core;
use crate::raft::Follower;
use crate::reload::Reloader;
use axum::extract::State;
use axum::{Extension, Json};
use common::rules_level::RulesLevels;
use common::wire::api::{ControllerRelease, UpgradeView};
use net::User;
use query::upgrade::{node_releases, upgrade};
use state::LEVELS;
use std::sync::Arc;

/// For operators, answered by the leader.
pub async fn show(
    State(core): State<Arc<Core>>,
    Extension(reloader): Extension<Arc<Reloader>>,
    _user: User,
) -> Result<Json<UpgradeView>, ApiFailure> {
    let level_max = reloader.rules_level_max();
    let status = core.standing.borrow().clone();
    let controllers = status.members.known.iter().map(|(id, member)| {
        let is_local = *id == status.id;
        let follower = status.followers.iter().find(|one| one.id == *id);
        let holds = if is_local { Some(status.last) } else { follower.map(|one| one.holds) };
        let (release, levels) = match is_local {
            true => (Some(crate::release::RELEASE.to_owned()), Some(LEVELS)),
            false => {
                let reported = core.peers.levels.lock().of(*id, uptime());
                (core.peers.addresses.release(*id), known_levels(reported, follower))
            }
        };
        ControllerRelease {
            id: *id,
            name: member.name.clone(),
            leads: status.leader == Some(*id),
            release,
            levels,
            behind: holds.map(|holds| status.committed.0.saturating_sub(holds.0)),
        }
    });
    let controllers = controllers.collect();
    let (level, nodes) = {
        let state = core.state.read();
        (state.rules_level(), node_releases(&state))
    };
    Ok(Json(upgrade(level, level_max, controllers, nodes, status.members.is_joint())))
}

/// The levels that a controller reported, if the leader is in contact with it: a report counts for
/// longer than the two seconds of silence after which contact ends.
fn known_levels(reported: Option<RulesLevels>, follower: Option<&Follower>) -> Option<RulesLevels> {
    reported.filter(|_| follower.is_some_and(|one| one.is_active))
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{ControllerId, LogIndex};

    #[test]
    fn a_controller_out_of_contact_counts_as_one_without_a_report() {
        let follower = |is_active| {
            let (id, holds) = (ControllerId(2), LogIndex(7));
            Follower { id, holds, is_active, gets_snapshot: false }
        };
        assert_eq!(known_levels(Some(LEVELS), Some(&follower(true))), Some(LEVELS));
        assert_eq!(known_levels(Some(LEVELS), Some(&follower(false))), None);
        assert_eq!(known_levels(Some(LEVELS), None), None);
        assert_eq!(known_levels(None, Some(&follower(true))), None);
    }
}
