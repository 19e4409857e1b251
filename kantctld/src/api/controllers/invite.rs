//! Invitations for new controllers. The invited controller joins with the secret.

use crate::api::enrolments::make_invitation;
use crate::api::error::ApiFailure;
use crate::core::Core;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use common::wire::api::{InviteAnswer, InviteRequest};
use net::User;
use state::invitation::Admits;
use std::sync::Arc;

/// POST /v1/controllers/invite
pub async fn invite(
    State(core): State<Arc<Core>>,
    user: User,
    body: Result<Json<InviteRequest>, JsonRejection>,
) -> Result<Json<InviteAnswer>, ApiFailure> {
    let Json(InviteRequest { lasts }) = body?;
    let address = core.peers.local.address.clone();
    make_invitation(&core, &user, (lasts, Admits::Controller), address).await.map(Json)
}
