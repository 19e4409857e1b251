//! Inviting one more controller: only on the own socket of the controller that leads. Over the
//! network a program that has the cluster's key can speak as a controller, and for any operator:
//! that must not be enough to get a vote.

use super::{OurPeers, check_operator};
use crate::api::error::ApiFailure;
use crate::core::Core;
use crate::raft::Status;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::{Extension, Json};
use common::id::Uid;
use common::reason::Refusal;
use common::wire::api::{InviteAnswer, InviteRequest};
use net::{User, Via};
use state::{Command, Event};
use std::sync::Arc;

/// POST /v1/controllers/invite
pub async fn invite(
    State(core): State<Arc<Core>>,
    Extension(peers): Extension<OurPeers>,
    user: User,
    body: Result<Json<InviteRequest>, JsonRejection>,
) -> Result<Json<InviteAnswer>, ApiFailure> {
    check_operator(&core, &user)?;
    let Json(InviteRequest { lasts }) = body?;
    let status = peers.log.status().borrow().clone();
    if user.via != Via::Socket || !status.leads {
        return Err(ApiFailure::Said(elsewhere(&status)));
    }
    let invitation = net::new_invitation().map_err(|error| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiFailure::Said(net::Refusal::new(status, "no_randomness", error.to_string()))
    })?;
    let actor = core.actor(Uid(user.uid));
    let hash = net::invitation_hash(&invitation);
    let events = core.command(Command::InviteController { actor, hash, lasts }).await?;
    let until = events.iter().find_map(|event| match event {
        Event::ControllerInvited { until, .. } => Some(*until),
        _ => None,
    });
    let until = until.ok_or_else(|| Refusal::BadAsk {
        message: "the controller did not say what became of the invitation: ask again".to_owned(),
    })?;
    tracing::info!("a controller may join until {until}: invited by uid {}", user.uid);
    Ok(Json(InviteAnswer { invitation, until, address: peers.me.address.clone() }))
}

fn elsewhere(status: &Status) -> net::Refusal {
    let leader = status.leader.and_then(|id| Some((id, status.members.known.get(&id)?)));
    let on = match leader {
        Some((id, member)) => {
            format!("that of controller {id} ({}, {})", member.name, member.address)
        }
        None => "which none does at the moment".to_owned(),
    };
    let message = format!(
        "controllers are invited on the host of the one that leads, by its own socket: {on}"
    );
    net::Refusal::new(StatusCode::CONFLICT, "invite_on_the_leader", message)
        .hint("`kantctl admin controller status` shows who leads; --socket names its socket there")
}
