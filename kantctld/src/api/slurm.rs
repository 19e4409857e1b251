//! The routes of Slurm's REST API, /slurm/{version} and /slurmdb/{version}, for programs written
//! for slurmrestd. They ask the same functions as the routes under /v1, and answer in Slurm's JSON.
//! Source: Slurm's OpenAPI documents; the crate `slurm-json` has the fields of each version.

mod accounting;
mod change;
mod cluster;
mod diag;
mod errors;
mod filters;
mod jobs;
mod named_user;
mod names;
mod past_jobs;
mod path;

pub use errors::in_slurms_form;
pub use path::{is_slurms, remove_trailing_slash};

use super::error::ApiFailure;
use super::slow_query;
use crate::core::Core;
use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use common::wire::api::{NodeView, QueueList};
use query::viewer::Viewer;
use serde_json::{Map, Value};
use slurm_json::Version;
use slurm_json::frame::{Asked, answer, answer_with_errors};
use state::State;
use std::sync::Arc;

/// Routes that the leader answers; another controller forwards them.
pub fn routes() -> Router<Arc<Core>> {
    Router::new()
        .route("/slurm/{version}/diag", get(diag::show))
        .route("/slurm/{version}/jobs", get(jobs::list))
        .route("/slurm/{version}/job/submit", post(change::submit))
        .route(
            "/slurm/{version}/job/{job_id}",
            get(jobs::show).post(change::update).delete(change::cancel),
        )
        .route("/slurm/{version}/nodes", get(cluster::nodes))
        .route("/slurm/{version}/node/{name}", get(cluster::node))
        .route("/slurm/{version}/partitions", get(cluster::partitions))
        .route("/slurm/{version}/partition/{name}", get(cluster::partition))
        .route("/slurm/{version}/reservations", get(cluster::reservations))
        .route("/slurm/{version}/reservation/{name}", get(cluster::reservation))
        .route("/slurm/{version}/licenses", get(cluster::licenses))
        .route("/slurmdb/{version}/jobs", get(past_jobs::list_jobs))
        .route("/slurmdb/{version}/job/{job_id}", get(past_jobs::show))
        .route("/slurmdb/{version}/accounts", get(accounting::accounts))
        .route("/slurmdb/{version}/account/{name}", get(accounting::account))
        .route("/slurmdb/{version}/qos", get(accounting::qos))
        .route("/slurmdb/{version}/qos/{name}", get(accounting::one_qos))
        .route("/slurmdb/{version}/users", get(accounting::users))
        .route("/slurmdb/{version}/user/{name}", get(accounting::user))
        .route("/slurmdb/{version}/associations", get(accounting::associations))
        .route("/slurmdb/{version}/clusters", get(accounting::clusters))
}

/// Routes that every controller answers itself.
pub fn local_routes() -> Router<Arc<Core>> {
    Router::new()
        .route("/slurm/{version}/ping", get(cluster::ping))
        .route("/slurmdb/{version}/ping", get(cluster::ping))
}

/// The version that a request names, and who asks.
pub struct Slurm {
    version: Version,
    user: net::User,
    asked: Asked,
}

impl FromRequestParts<Arc<Core>> for Slurm {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, core: &Arc<Core>) -> Result<Self, Response> {
        let version = path::version(parts.uri.path()).map_err(IntoResponse::into_response)?;
        let user = net::User::from_request_parts(parts, core)
            .await
            .map_err(IntoResponse::into_response)?;
        let named = named_user::check(&parts.headers, user.uid).await;
        let named = named.map_err(IntoResponse::into_response)?.unwrap_or_default();
        let asked = Asked { user: named, cluster: core.cluster_name(), ..Asked::default() };
        Ok(Self { version, user, asked })
    }
}

impl Slurm {
    /// An answer with these fields.
    fn answer(&self, fields: Map<String, Value>) -> Response {
        json(&answer(self.version, &self.asked, fields))
    }

    /// The same with warnings.
    fn answer_with(&self, fields: Map<String, Value>, warnings: &[String]) -> Response {
        json(&answer_with_errors(self.version, &self.asked, fields, &[], warnings))
    }

    /// An answer that may be long, made from a copy of the state, of what the user sees.
    async fn answer_slowly<V>(self, core: &Arc<Core>, view: V) -> Result<Response, ApiFailure>
    where
        V: FnOnce(&State, &Viewer, Version) -> Result<Map<String, Value>, ApiFailure>
            + Send
            + 'static,
    {
        self.answer_slowly_with(core, Vec::new(), view).await
    }

    /// The same with warnings.
    async fn answer_slowly_with<V>(
        self,
        core: &Arc<Core>,
        warnings: Vec<String>,
        view: V,
    ) -> Result<Response, ApiFailure>
    where
        V: FnOnce(&State, &Viewer, Version) -> Result<Map<String, Value>, ApiFailure>
            + Send
            + 'static,
    {
        let viewer = core.viewer(&self.user);
        let Self { version, user, asked } = self;
        slow_query::respond(core, user.uid, move |state| {
            let fields = view(state, &viewer, version)?;
            let whole = answer_with_errors(version, &asked, fields, &[], &warnings);
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON)]);
            Ok((headers, whole.to_string().into_bytes()))
        })
        .await
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

fn json(answer: &Value) -> Response {
    ([(CONTENT_TYPE, JSON)], answer.to_string()).into_response()
}

/// The refusal of an object that is not there.
fn no_such(what: &str, code: &str, name: &str) -> ApiFailure {
    let message = format!("there is no {what} {name}");
    ApiFailure::Http(net::Refusal::new(StatusCode::NOT_FOUND, code, message))
}

/// The nodes that the viewer sees, and the queues of the cluster.
fn nodes_and_queues(state: &State, viewer: &Viewer) -> (Vec<NodeView>, QueueList) {
    (query::view::node_list(state, viewer).nodes, query::view::queue_list(state))
}
