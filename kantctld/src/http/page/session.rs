//! Who is signed in: a browser keeps its user's token in a cookie that no script can read and that
//! requests from other sites do not carry. There is no other state of a session.
//!
//! A form proves by a hash of the token that it came from a page of the session.

use super::Site;
use crate::http::bearer;
use axum::Form;
use axum::extract::{FromRequestParts, State};
use axum::http::header::{COOKIE, HOST, ORIGIN, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use common::id::Uid;
use common::right::Roles;
use common::token::Scope;
use net::limiter::Permit;
use net::{Program, UserRecord};
use page::{Frame, Rights};
use serde::Deserialize;
use state::Actor;
use std::sync::Arc;

const COOKIE_NAME: &str = "kant-token";
const SIGN_IN: &str = "/sign-in";
/// Browsers keep cookies of up to 4096 bytes, name and attributes included (RFC 6265, section 6.1).
const COOKIE_BYTES_MAX: usize = 3900;

/// A user who is signed in, during one request.
pub struct Session {
    pub program: Program,
    cluster: String,
    user: String,
    rights: Rights,
    roles: Roles,
    csrf: String,
    _permit: Permit,
}

impl Session {
    pub fn frame(&self) -> Frame<'_> {
        let Self { cluster, user, rights, roles, csrf, .. } = self;
        Frame { cluster, user, rights: *rights, roles, csrf }
    }

    /// Refuses a form that does not come from a page of this session.
    ///
    /// # Errors
    /// The answer.
    pub fn check_form(&self, headers: &HeaderMap, csrf: &str) -> Result<(), Box<Response>> {
        match is_same_origin(headers) && csrf == self.csrf {
            true => Ok(()),
            false => Err(Box::new(self.refused_form())),
        }
    }

    fn refused_form(&self) -> Response {
        let message = "this form does not belong to your session";
        let page = page::failure(&self.frame(), message, Some("reload the page and try again"));
        (StatusCode::FORBIDDEN, Html(page)).into_response()
    }
}

impl FromRequestParts<Arc<Site>> for Session {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Response> {
        let to_sign_in = || Redirect::to(SIGN_IN).into_response();
        let secret = cookie(&parts.headers).ok_or_else(to_sign_in)?.to_owned();
        let (program, scopes) =
            bearer::program_of_token(&site.core, &secret).await.map_err(|_| to_sign_in())?;
        let permit = site.core.admission.programs.take(program.uid);
        let permit = permit.map_err(IntoResponse::into_response)?;
        let uid = Uid(program.uid);
        let access = site.core.access();
        let actor = match program.has_roles {
            true => access.actor(uid, access.groups(uid).await.as_ref()),
            false => Actor::user(uid),
        };
        let manages_jobs = scopes.contains(&Scope::JobsManage);
        let rights = Rights { uid, manages_jobs, operates: actor.operator };
        let queues = site.core.state.read().coordinated_queues(&actor.roles);
        let roles = Roles { queues, ..actor.roles };
        let user = user_name(&program).await;
        let (cluster, csrf) = (site.core.cluster_name(), csrf(&secret));
        Ok(Self { program, cluster, user, rights, roles, csrf, _permit: permit })
    }
}

/// The user's name, or the number if this host does not know it.
async fn user_name(program: &Program) -> String {
    let Program { uid, gid, .. } = *program;
    // The user database may be slow.
    let record = tokio::task::spawn_blocking(move || UserRecord::look_up(uid, gid)).await;
    let entry = record.ok().and_then(Result::ok).and_then(|record| record.entry);
    entry.map_or_else(|| uid.to_string(), |user| user.name)
}

/// The secret in the session's cookie.
pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|one| one.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE_NAME).map(|(_, value)| value.trim())
}

fn csrf(secret: &str) -> String {
    net::secret_hash(&format!("form {secret}"))
}

/// Browsers send the origin of the page with each form; other clients need not.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    matches!((origin, host), (Some((_, origin)), Some(host)) if origin == host)
}

/// GET /sign-in
pub async fn sign_in_form(State(site): State<Arc<Site>>) -> Html<String> {
    Html(page::sign_in(&site.core.cluster_name(), None))
}

#[derive(Deserialize)]
pub struct SignIn {
    token: String,
}

/// POST /sign-in
pub async fn sign_in(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
    Form(SignIn { token }): Form<SignIn>,
) -> Response {
    let secret = token.trim();
    let refused = |message: &str| {
        let page = page::sign_in(&site.core.cluster_name(), Some(message));
        (StatusCode::UNAUTHORIZED, Html(page)).into_response()
    };
    if !is_same_origin(&headers) {
        return refused("the form came from another site");
    }
    if secret.len() > COOKIE_BYTES_MAX {
        return refused("the token is too long for a browser; use one of `kantctl token create`");
    }
    match bearer::program_of_token(&site.core, secret).await {
        Ok(_) => (set_cookie(&site, secret, ""), Redirect::to("/")).into_response(),
        Err(refusal) => refused(&refusal.error.message),
    }
}

#[derive(Deserialize)]
pub struct SignOut {
    csrf: String,
}

/// POST /sign-out
pub async fn sign_out(
    State(site): State<Arc<Site>>,
    session: Session,
    headers: HeaderMap,
    Form(SignOut { csrf }): Form<SignOut>,
) -> Response {
    match session.check_form(&headers, &csrf) {
        Ok(()) => (set_cookie(&site, "", "; Max-Age=0"), Redirect::to(SIGN_IN)).into_response(),
        Err(refused) => *refused,
    }
}

fn set_cookie(site: &Site, value: &str, end: &str) -> [(axum::http::HeaderName, String); 1] {
    let secure = if site.is_secure { "; Secure" } else { "" };
    let text = format!("{COOKIE_NAME}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{end}");
    [(SET_COOKIE, text)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(axum::http::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let found = headers(&[(COOKIE, "a=1; kant-token=x; b=2")]);
        assert_eq!(cookie(&found), Some("x"));
        for other in ["", "kant-token", "not-kant-token=x", "a=kant-token"] {
            let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(other).unwrap())]);
            assert_eq!(cookie(&headers), None, "{other}");
        }
    }

    #[test]
    fn a_form_of_another_site_is_recognized() {
        let own = (HOST, "kant:7080");
        assert!(is_same_origin(&headers(std::slice::from_ref(&own))));
        assert!(is_same_origin(&headers(&[own.clone(), (ORIGIN, "http://kant:7080")])));
        for other in ["http://evil.example", "null", "http://kant:7080.evil.example"] {
            let mut headers = headers(std::slice::from_ref(&own));
            headers.insert(ORIGIN, HeaderValue::from_static(other));
            assert!(!is_same_origin(&headers), "{other}");
        }
    }
}
