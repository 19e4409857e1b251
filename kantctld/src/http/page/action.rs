//! Changes of a job that a page offers, as requests to the API.

use super::Site;
use super::api_client::{bytes, failure_page};
use super::session::Session;
use axum::Form;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use std::sync::Arc;

const VERBS: [&str; 4] = ["cancel", "hold", "release", "requeue"];

#[derive(Deserialize)]
pub struct ActionForm {
    csrf: String,
}

/// POST /jobs/{key}/{verb}
pub async fn act(
    State(site): State<Arc<Site>>,
    session: Session,
    Path((key, verb)): Path<(String, String)>,
    headers: HeaderMap,
    Form(ActionForm { csrf }): Form<ActionForm>,
) -> Response {
    if let Err(refused) = session.check_form(&headers, &csrf) {
        return *refused;
    }
    if !VERBS.contains(&verb.as_str()) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let key = page::percent_encode(&key);
    match bytes(&site, &session, Method::POST, &format!("/v1/jobs/{key}/{verb}")).await {
        Ok(_) => Redirect::to(&format!("/jobs/{key}")).into_response(),
        Err(refusal) => failure_page(&session, &refusal),
    }
}
