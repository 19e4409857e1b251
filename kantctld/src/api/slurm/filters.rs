//! The parameters of requests: one that selects something and is not known is refused, because an
//! answer without it would have other objects.

use super::super::error::ApiFailure;
use crate::core::Core;
use axum::extract::{FromRequestParts, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The parameters of a request.
pub type Parameters = BTreeMap<String, String>;

/// Parameters of lists that select nothing here: nothing is kept that was deleted, and what they
/// add to an answer is there in any case.
const ADDITIONS: &[&str] = &["with_deleted", "with_assocs", "with_coords", "with_wckeys"];

/// A request without parameters that select something.
pub struct NoFilters;

impl FromRequestParts<Arc<Core>> for NoFilters {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, core: &Arc<Core>) -> Result<Self, Response> {
        let asked = Query::<Parameters>::from_request_parts(parts, core).await;
        let Query(asked) = asked.map_err(|rejection| rejection.into_response())?;
        check(&asked, &[], ADDITIONS).map_err(|refused| refused.into_response())?;
        Ok(Self)
    }
}

/// Checks that there are no other parameters than these.
///
/// # Errors
/// A refusal that names the first one, and lists the filters.
pub fn check(asked: &Parameters, filters: &[&str], others: &[&str]) -> Result<(), ApiFailure> {
    let is_known = |name: &str| filters.contains(&name) || others.contains(&name);
    let Some(name) = asked.keys().find(|name| !is_known(name)) else { return Ok(()) };
    let ways = match filters {
        [] => "there are none here, and the answer has all".to_owned(),
        _ => format!("use {}", filters.join(", ")),
    };
    Err(bad_query(format!("there is no filter `{name}`: {ways}")))
}

pub fn bad_query(message: String) -> ApiFailure {
    ApiFailure::Http(net::Refusal::new(StatusCode::BAD_REQUEST, "bad_question", message))
}
