//! Taking a controller in: what is asked of one that wants to join, and its number. Never gives a
//! number under which somebody has lived.

use super::{CHANGE_LIMIT, change, refused};
use crate::api::error::ApiFailure;
use crate::clock::wall_clock;
use crate::core::{CommandError, Core};
use crate::machine::StateMachine;
use crate::membership::is_reachable;
use crate::peers::{Peers, clocks_agree};
use crate::raft::{Change, ChangeRefusal, Follower, Member, ProposeError, Status};
use axum::http::StatusCode;
use common::id::{ControllerId, LogIndex};
use common::wire::api::JoinRequest;
use common::wire::peer::PEER_PROTOCOL;
use state::Command;
use std::sync::PoisonError;

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
            format!(
                "it was of cluster {theirs}, and this is {ours}: ask one of its own; if that \
                 cluster is gone for good (one that is restored from a backup has a new id), move \
                 its state directory aside, then `kantctld join`"
            ),
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

/// Makes it a member by its invitation, which is used up then, and takes the one it replaces out,
/// in one change or not at all. Gives its number.
///
/// # Errors
/// [`ApiFailure`] when it is not invited, or the members do not change so; then they are as they
/// were.
pub async fn take_in(
    core: &Core,
    peers: &Peers<StateMachine>,
    request: JoinRequest,
) -> Result<ControllerId, ApiFailure> {
    let status = peers.log.status().borrow().clone();
    let replaced = request.replaces.filter(|old| status.members.has(*old));
    if let Some(old) = replaced {
        check_silent(peers, old).await?;
    }
    let hash = net::invitation_hash(&request.invitation);
    let is_used_here =
        core.state.read().invitation(&hash).is_some_and(|invitation| {
            invitation.used_by.as_deref() == Some(request.address.as_str())
        });
    // An answer that was lost is given again, as long as nobody has lived under that number.
    let waits = waiting(&status, &request.address).filter(|_| is_used_here && replaced.is_none());
    if let Some(id) = waits {
        note_unfinished(peers, None);
        return Ok(id);
    }
    let address = request.address.clone();
    let mut stay = status.members.known.iter().filter(|(id, _)| Some(**id) != replaced);
    if let Some((id, _)) = stay.find(|(_, member)| member.address == address) {
        // Before the invitation is used up for nothing.
        return Err(refused(ChangeRefusal::AddressTaken { id: *id, address }));
    }
    if !(is_used_here && is_unfinished(peers, &hash)) {
        let used_by = address.clone();
        core.command(Command::UseInvitation { hash: hash.clone(), address: used_by }).await?;
        note_unfinished(peers, Some(hash));
    }
    let JoinRequest { name, learner, .. } = request;
    let said = format!("{name} at {address}");
    let member = Member { name, address: address.clone(), becomes_voter: !learner };
    let mut changes: Vec<Change> = replaced.map(Change::Remove).into_iter().collect();
    changes.push(Change::Add(member));
    let given = change(peers, changes).await?;
    note_unfinished(peers, None);
    let id = given.ok_or(CommandError::NotTaken(ProposeError::Unknown))?;
    if let Some(old) = replaced {
        tracing::info!("controller {old} gave its number up: its log is lost");
    }
    tracing::info!("controller {id} joins: {said}");
    // One that asks again at once is to be known. It is a member all the same.
    let mut status = peers.log.status();
    let shows = status.wait_for(|status| waiting(status, &address) == Some(id));
    let _ = tokio::time::timeout(CHANGE_LIMIT, shows).await;
    Ok(id)
}

/// Was the invitation used up here by a join that came to nothing? Never said of one that let a
/// controller in: what was removed later does not come back by it.
fn is_unfinished(peers: &Peers<StateMachine>, hash: &str) -> bool {
    let unfinished = peers.unfinished_join.lock().unwrap_or_else(PoisonError::into_inner);
    unfinished.as_deref() == Some(hash)
}

fn note_unfinished(peers: &Peers<StateMachine>, hash: Option<String>) {
    *peers.unfinished_join.lock().unwrap_or_else(PoisonError::into_inner) = hash;
}

/// The controller of this address that was taken in and has not been heard of yet.
fn waiting(status: &Status, address: &str) -> Option<ControllerId> {
    let waits = |follower: &&Follower| {
        let member = status.members.known.get(&follower.id);
        follower.holds == LogIndex(0)
            && status.members.learns(follower.id)
            && member.is_some_and(|member| member.address == address)
    };
    status.followers.iter().find(waits).map(|follower| follower.id)
}

/// Whoever is to be replaced says nothing any more: it may have been heard a moment ago, if it just
/// ended.
async fn check_silent(peers: &Peers<StateMachine>, old: ControllerId) -> Result<(), ApiFailure> {
    let mut status = peers.log.status();
    let silent = status.wait_for(|status| {
        let heard = status.followers.iter().any(|one| one.id == old && one.is_heard);
        // It never hears itself.
        !heard && status.leader != Some(old)
    });
    match tokio::time::timeout(CHANGE_LIMIT, silent).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) => Err(CommandError::NotTaken(ProposeError::Stopped).into()),
        Err(_) => Err(refused(ChangeRefusal::Lives(old))),
    }
}
