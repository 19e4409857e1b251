//! JSON Web Tokens (RFC 7519) that a site issues for its users: with a secret shared with Slurm
//! (`auth/jwt`, HS256), or with the keys of an identity provider (a JWK set, RFC 7517).
//!
//! A token is accepted if a key of the right kind has signed it, it has not expired, it does not
//! last too long, and it names a user. The caller passes the time, and finds the user.

mod keys;
mod ring_provider;

use common::time::{Span, Time};
pub use keys::{KeyError, Keys};
use serde_json::{Map, Value};

/// How far the clock of the issuer may be ahead.
const CLOCK_GAP: Span = Span::from_seconds(60);

/// What a token must say besides its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The claim with the name of the user: `sun` in Slurm's tokens.
    pub user_claim: String,
    /// The required issuer (`iss`); `None`: any.
    pub issuer: Option<String>,
    /// The required audience (`aud`); `None`: any.
    pub audience: Option<String>,
    /// The longest time for which a token may still be valid.
    pub lifespan_max: Span,
}

/// What a valid token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    pub user: String,
    pub until: Time,
}

/// Why a token is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("it is no JSON Web Token")]
    Unreadable,
    #[error("no key of this cluster has signed it")]
    Signature,
    #[error("it has no time at which it expires (claim `exp`)")]
    NoExpiry,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet (claim `nbf` or `iat`): check the clock of its issuer")]
    NotYet,
    #[error("it is valid for longer than {} s, the most that this cluster accepts", .0.seconds())]
    LivesTooLong(Span),
    #[error("its issuer (claim `iss`) is not {0}")]
    Issuer(String),
    #[error("it is not for {0} (claim `aud`)")]
    Audience(String),
    #[error("it names no user (claim `{0}`)")]
    NoUser(String),
}

/// A token signed with HS256.
///
/// # Errors
/// When the claims cannot be written.
#[cfg(feature = "testing")]
pub fn sign_hs256(secret: &[u8], claims: &Value) -> jsonwebtoken::errors::Result<String> {
    ring_provider::install();
    let key = jsonwebtoken::EncodingKey::from_secret(secret)?;
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), claims, &key)
}

/// Whether a text has the form of a token: three parts with a dot between them.
#[must_use]
pub fn has_form(text: &str) -> bool {
    text.split('.').count() == 3 && text.starts_with("eyJ")
}

/// Checks a token at this time.
///
/// # Errors
/// [`Rejection`].
pub fn check(keys: &Keys, rules: &Rules, token: &str, now: Time) -> Result<Claims, Rejection> {
    let claims = keys.verify_signature(token)?;
    let until = time_claim(&claims, "exp").ok_or(Rejection::NoExpiry)?;
    if until <= now {
        return Err(Rejection::Expired);
    }
    let begins = ["nbf", "iat"].into_iter().filter_map(|name| time_claim(&claims, name)).max();
    if begins.is_some_and(|at| at > now + CLOCK_GAP) {
        return Err(Rejection::NotYet);
    }
    if until.since(now) > rules.lifespan_max {
        return Err(Rejection::LivesTooLong(rules.lifespan_max));
    }
    if let Some(issuer) = &rules.issuer
        && text_claim(&claims, "iss") != Some(issuer)
    {
        return Err(Rejection::Issuer(issuer.clone()));
    }
    if let Some(audience) = &rules.audience
        && !has_audience(&claims, audience)
    {
        return Err(Rejection::Audience(audience.clone()));
    }
    let user = text_claim(&claims, &rules.user_claim).filter(|user| !user.is_empty());
    let user = user.ok_or_else(|| Rejection::NoUser(rules.user_claim.clone()))?.to_owned();
    Ok(Claims { user, until })
}

/// A claim in seconds since 1970; fractions are allowed (RFC 7519, section 2, NumericDate).
fn time_claim(claims: &Map<String, Value>, name: &str) -> Option<Time> {
    let value = claims.get(name)?;
    let seconds = value.as_u64().or_else(|| {
        let seconds = value.as_f64()?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // it saturates
        (seconds >= 0.0).then_some(seconds as u64)
    })?;
    Some(Time(seconds.saturating_mul(1000)))
}

fn text_claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    claims.get(name)?.as_str()
}

/// The audience is one name or a list of names.
fn has_audience(claims: &Map<String, Value>, audience: &str) -> bool {
    match claims.get("aud") {
        Some(Value::String(only)) => only == audience,
        Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == Some(audience)),
        _ => false,
    }
}
