//! Acceptance of a joining controller: the checks, and its id. An id that was used is not assigned
//! again.

use super::{CHANGE_LIMIT, change_members, change_refusal};
use crate::api::error::ApiFailure;
use crate::clock::wall_clock;
use crate::core::{CommandError, Core};
use crate::membership::is_reachable;
use crate::peers::{Peers, clocks_agree};
use crate::raft::{Change, ChangeRefusal, Follower, Member, ProposeError, Status};
use crate::release::WITH_PEERS;
use crate::state_machine::StateMachine;
use axum::http::StatusCode;
use common::id::{ControllerId, LogIndex};
use common::rules_level::RulesLevel;
use common::wire::Protocols;
use common::wire::api::JoinRequest;
use state::Command;

/// A host name has at most 253 characters.
const TEXT_BYTES_MAX: usize = 255;

/// Checks whether a controller may join this cluster.
///
/// # Errors
/// A refusal that names the remedy.
pub fn check_join(
    peers: &Peers<StateMachine>,
    in_force: RulesLevel,
    request: &JoinRequest,
) -> Result<(), net::Refusal> {
    let now = wall_clock();
    let ours = crate::release::RELEASE;
    let refuse =
        |code: &str, message: String| Err(net::Refusal::new(StatusCode::CONFLICT, code, message));
    let theirs = Protocols::from_announced(request.protocol, request.oldest_protocol);
    if WITH_PEERS.newest_common(theirs).is_none() {
        let release = &request.release;
        return refuse(
            "other_protocol",
            format!(
                "kantctld {release} uses controller protocol {theirs}, kantctld {ours} of this \
                 cluster uses {WITH_PEERS}: install the same release on both"
            ),
        );
    }
    if let Some(Err(unknown)) = request.levels.map(|levels| levels.check(in_force)) {
        let message = format!(
            "this cluster applies rules level {in_force}, and kantctld {} knows {}: install the \
             release of the cluster's controllers, kantctld {ours}",
            request.release, unknown.known
        );
        return refuse("rules_level", message);
    }
    if let Some(theirs) = request.cluster.filter(|cluster| *cluster != peers.local.cluster) {
        let ours = peers.local.cluster;
        return refuse(
            "other_cluster",
            format!(
                "it belonged to cluster {theirs}, and this is cluster {ours}: ask a controller of \
                 its own cluster; if that cluster is gone for good (a cluster restored from a \
                 backup has a new id), move its state directory aside, then `kantctld join`"
            ),
        );
    }
    if !clocks_agree(request.now, now) {
        return refuse(
            "clock",
            format!(
                "its clock shows {}, that of the cluster's leader {now}: correct NTP on the wrong \
                 one",
                request.now
            ),
        );
    }
    if request.address.len().max(request.name.len()) > TEXT_BYTES_MAX {
        let message = format!("its name and address have at most {TEXT_BYTES_MAX} bytes each");
        return refuse("too_long", message);
    }
    let own = &peers.local.address;
    match [&request.address, own].into_iter().find(|address| !is_reachable(address)) {
        None => Ok(()),
        Some(address) => refuse(
            "unreachable",
            format!(
                "controllers cannot reach each other at `{address}`: set `advertise` in \
                 kantctld.toml there, and restart it if it runs"
            ),
        ),
    }
}

/// Makes the controller a member and removes the one it replaces, in one change. Uses up the
/// invitation. Returns the new id.
///
/// # Errors
/// [`ApiFailure`] if it is not invited, or the change is refused; then the members are unchanged.
pub async fn accept(
    core: &Core,
    peers: &Peers<StateMachine>,
    request: JoinRequest,
) -> Result<ControllerId, ApiFailure> {
    let status = peers.log.status().borrow().clone();
    let replaced = request.replaces.filter(|old| status.members.has(*old));
    if let Some(old) = replaced {
        check_inactive(peers, old).await?;
    }
    let hash = net::secret_hash(&request.invitation.0);
    let is_used_here =
        core.state.read().invitation(&hash).is_some_and(|invitation| {
            invitation.used_by.as_deref() == Some(request.address.as_str())
        });
    // A lost answer is given again, while no controller has started under that id.
    let waits = unconnected_member(&status, &request.address)
        .filter(|_| is_used_here && replaced.is_none());
    if let Some(id) = waits {
        note_unfinished(peers, None);
        return Ok(id);
    }
    let address = request.address.clone();
    let mut stay = status.members.known.iter().filter(|(id, _)| Some(**id) != replaced);
    if let Some((id, _)) = stay.find(|(_, member)| member.address == address) {
        // Checked before the invitation is used up.
        return Err(change_refusal(ChangeRefusal::AddressTaken { id: *id, address }));
    }
    if !(is_used_here && is_unfinished(peers, &hash)) {
        let used_by = address.clone();
        core.propose_command(Command::UseInvitation { hash: hash.clone(), address: used_by })
            .await?;
        note_unfinished(peers, Some(hash));
    }
    let JoinRequest { name, learner, .. } = request;
    let said = format!("{name} at {address}");
    let member = Member { name, address: address.clone(), becomes_voter: !learner };
    let mut changes: Vec<Change> = replaced.map(Change::Remove).into_iter().collect();
    changes.push(Change::Add(member));
    let given = change_members(peers, changes).await?;
    note_unfinished(peers, None);
    let id = given.ok_or(CommandError::NotTaken(ProposeError::Unknown))?;
    if let Some(old) = replaced {
        tracing::info!("controller {old} was replaced: its log is lost");
    }
    tracing::info!("controller {id} joins: {said}");
    // Wait until a repeated request would find it. After the timeout it is a member all the same.
    let mut status = peers.log.status();
    let shows = status.wait_for(|status| unconnected_member(status, &address) == Some(id));
    let _ = tokio::time::timeout(CHANGE_LIMIT, shows).await;
    Ok(id)
}

/// Whether a join that did not complete used up the invitation. False after a completed join: a
/// member that is removed later must not return with it.
fn is_unfinished(peers: &Peers<StateMachine>, hash: &str) -> bool {
    let unfinished = peers.unfinished_join.lock();
    unfinished.as_deref() == Some(hash)
}

fn note_unfinished(peers: &Peers<StateMachine>, hash: Option<String>) {
    *peers.unfinished_join.lock() = hash;
}

/// The member of this address that was accepted and has not connected yet.
fn unconnected_member(status: &Status, address: &str) -> Option<ControllerId> {
    let waits = |follower: &&Follower| {
        let member = status.members.known.get(&follower.id);
        follower.holds == LogIndex(0)
            && status.members.learns(follower.id)
            && member.is_some_and(|member| member.address == address)
    };
    status.followers.iter().find(waits).map(|follower| follower.id)
}

/// Checks that the member to replace is not active. It may count as active for a moment after it
/// stopped.
async fn check_inactive(peers: &Peers<StateMachine>, old: ControllerId) -> Result<(), ApiFailure> {
    let mut status = peers.log.status();
    let silent = status.wait_for(|status| {
        let is_active = status.followers.iter().any(|one| one.id == old && one.is_active);
        // The leader does not count itself as active.
        !is_active && status.leader != Some(old)
    });
    match tokio::time::timeout(CHANGE_LIMIT, silent).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) => Err(CommandError::NotTaken(ProposeError::Stopped).into()),
        Err(_) => Err(change_refusal(ChangeRefusal::Lives(old))),
    }
}
