//! Tokens for programs: created by their user, shown once, listed and revoked.

use super::audited::AuditRemark;
use super::error::ApiFailure;
use super::origin::Origin;
use super::right_check::check_role;
use crate::core::Core;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use common::id::{Gid, Uid};
use common::reason::{Refusal, TokenRefusal};
use common::right::Right;
use common::token::TokenId;
use common::wire::api::{Secret, TokenAnswer, TokenList, TokenQuery, TokenRequest, TokenView};
use net::User;
use state::{Command, NewToken};
use std::sync::Arc;

/// POST /v1/tokens
pub async fn create(
    State(core): State<Arc<Core>>,
    user: User,
    origin: Origin,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<TokenRequest>, JsonRejection>,
) -> Result<Json<TokenAnswer>, ApiFailure> {
    if let Some(node) = origin.vouching_name() {
        core.access().check_token_maker(node).map_err(ApiFailure::Http)?;
    }
    let Json(TokenRequest { name, scopes, lifespan }) = body?;
    let secret = net::new_token().map_err(|error| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiFailure::Http(net::Refusal::new(status, "no_randomness", error.to_string()))
    })?;
    let hash = net::secret_hash(&secret);
    let id = TokenId::of_hash(&hash);
    let words: Vec<String> = scopes.iter().map(ToString::to_string).collect();
    remark.set_target(&id);
    remark.set_detail(words.join(","));
    let via = origin.vouching_node();
    let token = NewToken { hash, gid: Gid(user.gid), name, scopes, lifespan, via };
    let (actor, token) = (core.actor(&user), Box::new(token));
    core.propose_command(Command::CreateToken { actor, token }).await?;
    let token = view(&core, &id).ok_or(TokenRefusal::Unknown { id }).map_err(Refusal::from)?;
    Ok(Json(TokenAnswer { secret: Secret(secret), token }))
}

/// GET /v1/tokens
pub async fn list(
    State(core): State<Arc<Core>>,
    user: User,
    Query(query): Query<TokenQuery>,
) -> Result<Json<TokenList>, ApiFailure> {
    if query.all {
        check_role(&core.actor(&user), Right::Oversee)?;
    }
    core.wait_for_current_state().await?;
    let ids: Vec<TokenId> = {
        let state = core.state.read();
        let shown = state.tokens().filter(|(_, token)| query.all || token.uid == Uid(user.uid));
        shown.map(|(id, _)| id).collect()
    };
    let mut tokens: Vec<TokenView> = ids.iter().filter_map(|id| view(&core, id)).collect();
    tokens.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
    Ok(Json(TokenList { as_of: core.now(), tokens }))
}

/// POST /v1/tokens/{id}/revoke
pub async fn revoke(
    State(core): State<Arc<Core>>,
    user: User,
    Path(id): Path<String>,
) -> Result<Json<TokenList>, ApiFailure> {
    let id: TokenId = id.parse().map_err(|error: common::token::TokenIdError| Refusal::BadAsk {
        message: error.to_string(),
    })?;
    let token = view(&core, &id);
    core.propose_command(Command::RevokeToken { actor: core.actor(&user), id }).await?;
    Ok(Json(TokenList { as_of: core.now(), tokens: token.into_iter().collect() }))
}

fn view(core: &Core, id: &TokenId) -> Option<TokenView> {
    let state = core.state.read();
    let (_, token) = state.token_by_id(id)?;
    Some(TokenView {
        id: id.clone(),
        name: token.name.clone(),
        uid: token.uid,
        scopes: token.scopes.clone(),
        created: token.created,
        until: token.until,
        via: token.via.clone(),
        last_use: core.token_uses.last_use(id),
    })
}
