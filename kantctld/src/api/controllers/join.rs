//! Taking a controller in: what is asked of one that wants to join, and its number. Never gives a
//! number under which somebody has lived.

use super::change;
use crate::api::error::ApiFailure;
use crate::clock::wall_clock;
use crate::core::CommandError;
use crate::machine::StateMachine;
use crate::membership::is_reachable;
use crate::peers::{Peers, clocks_agree};
use crate::raft::{Change, Member, ProposeError};
use axum::http::StatusCode;
use common::id::{ControllerId, LogIndex};
use common::wire::api::JoinRequest;
use common::wire::peer::PEER_PROTOCOL;

/// May it join this cluster at all?
///
/// # Errors
/// The refusal, with what to do.
pub fn check_join(peers: &Peers<StateMachine>, request: &JoinRequest) -> Result<(), net::Refusal> {
    let now = wall_clock();
    let ours = env!("CARGO_PKG_VERSION");
    let refuse =
        |code: &str, message: String| Err(net::Refusal::new(StatusCode::CONFLICT, code, message));
    if request.protocol != PEER_PROTOCOL {
        let (release, theirs) = (&request.release, request.protocol);
        return refuse(
            "other_protocol",
            format!(
                "kantctld {release} speaks protocol {theirs} with controllers, kantctld {ours} of \
                 this cluster {PEER_PROTOCOL}: install one release on both"
            ),
        );
    }
    if let Some(theirs) = request.cluster.filter(|cluster| *cluster != peers.me.cluster) {
        let ours = peers.me.cluster;
        return refuse(
            "other_cluster",
            format!("it was of cluster {theirs}, and this is {ours}: ask one of its own"),
        );
    }
    if !clocks_agree(request.now, now) {
        return refuse(
            "clock",
            format!(
                "its clock says {}, that of the cluster's leader {now}: mend NTP on the one that \
                 is wrong",
                request.now
            ),
        );
    }
    let own = &peers.me.address;
    match [&request.address, own].into_iter().find(|address| !is_reachable(address)) {
        None => Ok(()),
        Some(address) => refuse(
            "unreachable",
            format!(
                "controllers cannot reach each other at `{address}`: write `advertise` in \
                 kantctld.toml there, and restart it if it runs"
            ),
        ),
    }
}

/// Makes it a member, in the place of the one it replaces. Gives its number.
///
/// # Errors
/// [`ApiFailure`] when the members do not change so.
pub async fn take_in(
    peers: &Peers<StateMachine>,
    request: JoinRequest,
) -> Result<ControllerId, ApiFailure> {
    let status = peers.log.status().borrow().clone();
    if let Some(old) = request.replaces.filter(|old| status.members.has(*old)) {
        change(peers, Change::Remove(old)).await?;
        tracing::info!("controller {old} gave its number up: its log is lost");
    }
    // An answer that was lost is given again, as long as nobody has lived under that number.
    let waits = status.followers.iter().find(|follower| {
        let member = status.members.known.get(&follower.id);
        follower.holds == LogIndex(0)
            && status.members.learns(follower.id)
            && member.is_some_and(|member| member.address == request.address)
    });
    if let Some(waits) = waits {
        return Ok(waits.id);
    }
    let JoinRequest { name, address, learner, .. } = request;
    let said = format!("{name} at {address}");
    let member = Member { name, address, becomes_voter: !learner };
    let given = change(peers, Change::Add(member)).await?;
    let id = given.ok_or(CommandError::NotTaken(ProposeError::Unknown))?;
    tracing::info!("controller {id} joins: {said}");
    Ok(id)
}
