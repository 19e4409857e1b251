//! The check of requests that programs make with a token: refused if the token has been revoked or
//! has expired, or if the route needs a scope that it does not have. The leader repeats the check
//! of a controller that forwards a request, whose state may be older.

use super::origin::Origin;
use crate::core::Core;
use axum::extract::{MatchedPath, Request};
use axum::http::StatusCode;
use common::id::Uid;
use common::route::find_route;
use common::token::{self, Scope, TokenId};
use net::{Caller, Refusal};

/// Checks the token of a program's request. Returns whether its user's roles count in it; the
/// controller that forwards a request may have decided by other settings.
///
/// # Errors
/// A refusal that names the missing scope, or a token that is not valid.
pub(super) fn check(
    core: &Core,
    caller: &Caller,
    origin: &Origin,
    request: &Request,
) -> Result<bool, Refusal> {
    if origin.is_jwt() {
        // Its signature was checked by the controller that received it.
        let tokens = core.access().jwts.clone().ok_or_else(invalid_token_refusal)?;
        check_scope_of(request, tokens.scopes())?;
        return Ok(tokens.scopes().contains(&Scope::Admin));
    }
    let Some(id) = origin.token() else { return Ok(true) };
    let user = net::caller_identity(caller, request.headers())?;
    let id: TokenId = id.parse().map_err(|_| invalid_token_refusal())?;
    let now = core.now();
    let state = core.state.read();
    let found = state.token_by_id(&id);
    let valid = found.filter(|(_, token)| token.until > now && token.uid == Uid(user.uid));
    let (_, token) = valid.ok_or_else(invalid_token_refusal)?;
    check_scope_of(request, &token.scopes)?;
    core.token_uses.note(id, now, |other| state.token_by_id(other).is_some());
    Ok(has_roles(core, token))
}

/// Whether the roles of its user count in requests with this token.
pub fn has_roles(core: &Core, token: &state::token::Token) -> bool {
    token.scopes.contains(&Scope::Admin)
        && (token.via.is_none() || core.access().vouched_keep_roles())
}

fn check_scope_of(request: &Request, scopes: &token::Scopes) -> Result<(), Refusal> {
    // A path without a route has nothing to protect, and gets its own answer.
    match request.extensions().get::<MatchedPath>() {
        Some(path) => check_scope(request.method().as_str(), path.as_str(), scopes),
        None => Ok(()),
    }
}

/// The token of a stream, which may be revoked while the stream is open.
pub(super) struct StreamToken(Option<TokenId>);

impl StreamToken {
    pub(super) fn of(origin: &Origin) -> Self {
        // It was checked when the stream was requested.
        Self(origin.token().and_then(|id| id.parse().ok()))
    }

    /// Whether the stream may go on.
    pub(super) fn is_valid(&self, core: &Core) -> bool {
        let Some(id) = &self.0 else { return true };
        let now = core.now();
        core.state.read().token_by_id(id).is_some_and(|(_, token)| token.until > now)
    }
}

fn check_scope(method: &str, path: &str, scopes: &token::Scopes) -> Result<(), Refusal> {
    // axum answers HEAD by the route of GET.
    let method = if method == "HEAD" { "GET" } else { method };
    let needed = find_route(method, path).and_then(|route| route.scope);
    match needed {
        Some(scope) if scopes.contains(&scope) => Ok(()),
        Some(scope) => {
            let message = format!("this token lacks the scope {scope}, which the request needs");
            let hint = format!("create one with it: `kantctl token create --scope={scope}`");
            Err(Refusal::new(StatusCode::FORBIDDEN, "scope_missing", message).with_hint(hint))
        }
        None => {
            let message = "this request is not open to tokens: use kantctl";
            Err(Refusal::new(StatusCode::FORBIDDEN, "not_for_tokens", message))
        }
    }
}

/// The refusal of a token that does not exist. It does not say whether it ever did.
pub fn invalid_token_refusal() -> Refusal {
    let message = "this token is not valid: it has expired, was revoked, or was never created here";
    Refusal::new(StatusCode::UNAUTHORIZED, "token_invalid", message).with_hint(net::TOKEN_HINT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::route::ROUTES;

    #[test]
    fn a_route_needs_its_scope_and_a_closed_one_is_open_to_none() {
        let all: token::Scopes = Scope::ALL.into();
        for route in ROUTES {
            let all_but = |scope| all.iter().copied().filter(|one| *one != scope).collect();
            let code = |scopes: &token::Scopes| {
                check_scope(route.method, route.path, scopes)
                    .err()
                    .map(|refusal| refusal.error.code)
            };
            match route.scope {
                Some(scope) => {
                    assert_eq!(code(&all), None, "{route:?}");
                    assert_eq!(code(&all_but(scope)).as_deref(), Some("scope_missing"));
                }
                None => assert_eq!(code(&all).as_deref(), Some("not_for_tokens")),
            }
        }
        let unknown = check_scope("POST", "/v1/new-route", &all).unwrap_err();
        assert_eq!(unknown.error.code, "not_for_tokens", "a route without a row is closed");
    }

    #[test]
    fn every_path_and_method_of_the_router_has_a_row() {
        let source = [include_str!("../api.rs"), include_str!("slurm.rs")].concat();
        let routes = source.split(".route(").skip(1).filter_map(|route| {
            let path = route.trim_start().strip_prefix('"')?;
            path.split_once('"')
        });
        let mut count = 0;
        for (path, handlers) in routes {
            // The handlers end at the line's end, or at that of the call.
            let handlers = handlers.split(";\n").next().unwrap_or_default();
            for word in ["get(", "post(", "put(", "delete(", "patch(", "any(", "on("] {
                let is_call = |(at, _): (usize, &str)| {
                    let before: Option<char> = handlers[..at].chars().next_back();
                    !before.is_some_and(|last| last.is_alphanumeric() || last == '_')
                };
                if handlers.match_indices(word).any(is_call) {
                    let method = word.trim_end_matches('(').to_uppercase();
                    assert!(find_route(&method, path).is_some(), "{method} {path} has no row");
                    count += 1;
                }
            }
        }
        assert!(count > 60, "routes have another form: {count}");
    }
}
