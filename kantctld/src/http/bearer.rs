//! Identification of programs by the token of each request.

use crate::api::{token_has_roles, token_invalid};
use crate::audit::{AuditLine, AuditResult};
use crate::clock::wall_clock;
use crate::core::Core;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use common::token::{Scope, Scopes, TOKEN_PREFIX, TokenId};
use net::{Caller, CallerError, Program, Refusal, USER_HEADER};
use std::sync::Arc;

/// Passes on a request with a valid token as one of its user.
pub async fn identify(State(core): State<Arc<Core>>, mut request: Request, next: Next) -> Response {
    let program = match identified(&core, request.headers()).await {
        Ok(program) => program,
        Err(refusal) => {
            audit(&core, &request, &refusal);
            return unauthorized(refusal);
        }
    };
    let permit = match core.admission.programs.take(program.uid) {
        Ok(permit) => permit,
        Err(refusal) => return refusal.into_response(),
    };
    request.extensions_mut().insert(ConnectInfo(Caller::Program(program)));
    // The token has served its purpose; another controller must not get it.
    request.headers_mut().remove(AUTHORIZATION);
    let response = next.run(request).await;
    drop(permit);
    response
}

async fn identified(core: &Core, headers: &HeaderMap) -> Result<Program, Refusal> {
    if headers.contains_key(USER_HEADER) {
        return Err(CallerError::Claimed.into());
    }
    let secret = bearer(headers).ok_or(CallerError::NoToken)?;
    Ok(program(core, secret).await?.0)
}

/// Writes an audit line for a token that is not valid: it may be a stolen one that was revoked. The
/// routes, which write all other lines, do not see the request.
fn audit(core: &Core, request: &Request, refusal: &Refusal) {
    let Some(secret) = bearer(request.headers()) else { return };
    let id = TokenId::of_hash(&net::secret_hash(secret)).to_string();
    let (method, path) = (request.method(), request.uri().path());
    core.audit.note(AuditLine {
        uid: None,
        target: id,
        detail: format!("{method} {path}"),
        code: Some(refusal.error.code.clone()),
        ..AuditLine::own(core.now(), "program", "token", AuditResult::Refused)
    });
}

/// The secret of the only `Authorization` header, if it is a bearer token.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (only, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
    let (scheme, secret) = only.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
}

/// The program with this token, and its scopes.
///
/// # Errors
/// The refusal of a token that is not valid.
pub async fn program(core: &Core, secret: &str) -> Result<(Program, Scopes), Refusal> {
    match jwt::has_form(secret) {
        true => with_jwt(core, secret).await,
        false => with_own_token(core, secret),
    }
}

async fn with_jwt(core: &Core, secret: &str) -> Result<(Program, Scopes), Refusal> {
    let tokens = core.access().jwts.clone().ok_or_else(token_invalid)?;
    let (uid, gid) = tokens.clone().user(secret, wall_clock()).await?;
    let scopes = tokens.scopes().clone();
    let program = Program {
        uid,
        gid,
        token: TokenId::of_hash(&net::secret_hash(secret)).to_string(),
        is_jwt: true,
        has_roles: scopes.contains(&Scope::Admin),
    };
    Ok((program, scopes))
}

fn with_own_token(core: &Core, secret: &str) -> Result<(Program, Scopes), Refusal> {
    if !secret.starts_with(TOKEN_PREFIX) {
        return Err(token_invalid());
    }
    let hash = net::secret_hash(secret);
    let now = core.now();
    let state = core.state.read();
    let token = state.token(&hash, now).ok_or_else(token_invalid)?;
    let program = Program {
        uid: token.uid.0,
        gid: token.gid.0,
        token: TokenId::of_hash(&hash).to_string(),
        is_jwt: false,
        has_roles: token_has_roles(core, token),
    };
    Ok((program, token.scopes.clone()))
}

fn unauthorized(refusal: Refusal) -> Response {
    let mut response = refusal.into_response();
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&'static str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_static(value));
        }
        bearer(&headers).map(str::to_owned)
    }

    #[test]
    fn a_token_is_given_once_as_a_bearer_token() {
        assert_eq!(read(&["Bearer x"]).as_deref(), Some("x"));
        assert_eq!(read(&["bearer  x "]).as_deref(), Some("x"));
        for bad in [&[][..], &["x"], &["Basic x"], &["Bearer x", "Bearer y"]] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }
}
