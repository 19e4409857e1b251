//! Identification of programs by the token of each request.

use crate::api::{invalid_token_refusal, is_slurms, token_has_roles};
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

/// The header of Slurm's clients with the token (man slurmrestd).
const SLURM_TOKEN: &str = "x-slurm-user-token";

/// Passes on a request with a valid token as one of its user.
pub async fn identify(State(core): State<Arc<Core>>, mut request: Request, next: Next) -> Response {
    let secret = secret(&request).map(str::to_owned);
    let program = match identify_program(&core, request.headers(), secret.as_deref()).await {
        Ok(program) => program,
        Err(refusal) => {
            audit_invalid_token(&core, &request, secret.as_deref(), &refusal);
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
    request.headers_mut().remove(SLURM_TOKEN);
    let response = next.run(request).await;
    drop(permit);
    response
}

async fn identify_program(
    core: &Core,
    headers: &HeaderMap,
    secret: Option<&str>,
) -> Result<Program, Refusal> {
    if headers.contains_key(USER_HEADER) {
        return Err(CallerError::Claimed.into());
    }
    Ok(program_of_token(core, secret.ok_or(CallerError::NoToken)?).await?.0)
}

/// The secret of a request. Clients of Slurm's paths have a header of their own for it.
fn secret(request: &Request) -> Option<&str> {
    let headers = request.headers();
    let of_slurm = headers.get(SLURM_TOKEN).filter(|_| is_slurms(request.uri().path()));
    match (bearer(headers), of_slurm) {
        (secret, None) => secret,
        (None, Some(token)) if !headers.contains_key(AUTHORIZATION) => {
            single_header_text(headers, token)
        }
        (Some(secret), Some(token)) => {
            single_header_text(headers, token).filter(|token| *token == secret)
        }
        (None, Some(_)) => None,
    }
}

/// The text of Slurm's header, if it is there once.
fn single_header_text<'a>(headers: &'a HeaderMap, token: &'a HeaderValue) -> Option<&'a str> {
    let is_one = headers.get_all(SLURM_TOKEN).iter().count() == 1;
    token.to_str().ok().map(str::trim).filter(|_| is_one)
}

/// Writes an audit line for a token that is not valid: it may be a stolen one that was revoked. The
/// routes, which write all other lines, do not see the request.
fn audit_invalid_token(core: &Core, request: &Request, secret: Option<&str>, refusal: &Refusal) {
    let Some(secret) = secret else { return };
    let id = TokenId::of_hash(&net::secret_hash(secret)).to_string();
    let (method, path) = (request.method(), request.uri().path());
    core.audit.note(AuditLine {
        uid: None,
        target: id,
        detail: format!("{method} {path}"),
        code: Some(refusal.error.code.clone()),
        ..AuditLine::for_own_action(core.now(), "program", "token", AuditResult::Refused)
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
pub async fn program_of_token(core: &Core, secret: &str) -> Result<(Program, Scopes), Refusal> {
    match jwt::has_form(secret) {
        true => program_of_jwt(core, secret).await,
        false => program_of_own_token(core, secret),
    }
}

async fn program_of_jwt(core: &Core, secret: &str) -> Result<(Program, Scopes), Refusal> {
    let tokens = core.access().jwts.clone().ok_or_else(invalid_token_refusal)?;
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

fn program_of_own_token(core: &Core, secret: &str) -> Result<(Program, Scopes), Refusal> {
    if !secret.starts_with(TOKEN_PREFIX) {
        return Err(invalid_token_refusal());
    }
    let hash = net::secret_hash(secret);
    let now = core.now();
    let state = core.state.read();
    let token = state.token(&hash, now).ok_or_else(invalid_token_refusal)?;
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
    use axum::body::Body;

    #[test]
    fn a_client_of_slurms_paths_may_send_its_token_in_slurms_header() {
        let read = |path: &str, headers: &[(&str, &str)]| {
            let mut request = axum::http::Request::builder().uri(path);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            secret(&request.body(Body::empty()).unwrap()).map(str::to_owned)
        };
        let own = ("x-slurm-user-token", "t");
        let path = "/slurm/v0.0.40/jobs";
        assert_eq!(read(path, &[own]).as_deref(), Some("t"));
        assert_eq!(read(path, &[("authorization", "Bearer t")]).as_deref(), Some("t"));
        assert_eq!(read(path, &[own, ("authorization", "Bearer t")]).as_deref(), Some("t"));
        assert_eq!(read(path, &[own, ("authorization", "Bearer u")]), None);
        assert_eq!(read(path, &[own, ("authorization", "Basic t")]), None);
        assert_eq!(read(path, &[own, own]), None);
        assert_eq!(read("/v1/jobs", &[own]), None);
    }

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
