//! Invitations for new controllers. The invited controller joins with the secret.

use super::{OurPeers, check_operator};
use crate::api::error::ApiFailure;
use crate::core::Core;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::{Extension, Json};
use common::reason::Refusal;
use common::wire::api::{InviteAnswer, InviteRequest};
use net::User;
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
    let invitation = net::new_invitation().map_err(|error| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiFailure::Http(net::Refusal::new(status, "no_randomness", error.to_string()))
    })?;
    let actor = core.actor(&user);
    let hash = net::secret_hash(&invitation);
    let events = core.command(Command::InviteController { actor, hash, lasts }).await?;
    let until = events.iter().find_map(|event| match event {
        Event::ControllerInvited { until, .. } => Some(*until),
        _ => None,
    });
    let until = until.ok_or_else(|| Refusal::BadAsk {
        message: "the controller did not report the outcome of the invitation: try again"
            .to_owned(),
    })?;
    tracing::info!("a controller may join until {until}: invited by uid {}", user.uid);
    Ok(Json(InviteAnswer { invitation, until, address: peers.local.address.clone() }))
}
