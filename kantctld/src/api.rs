//! The HTTP API: authentication by the kernel, a certificate or a token, authorization, and JSON
//! answers. A controller that does not lead forwards requests to the leader. The state changes only
//! through commands in the log, and an identity in a request body is not trusted.

mod accounting;
mod audit;
mod audited;
mod backup;
mod batch;
mod body_limit;
mod caller_check;
mod cluster_key;
mod controllers;
mod enrolments;
mod error;
mod event_stream;
mod events;
mod history;
mod idle_gpus;
mod invitations;
mod jobs;
mod leader;
mod leader_socket;
mod lease;
mod metrics;
mod nodes;
mod openapi;
mod origin;
mod output;
mod output_events;
mod priority;
mod reload;
mod reservations;
mod response_spool;
mod right_check;
mod services;
mod share;
mod signal;
mod slow_query;
mod slurm;
mod solve;
mod steps;
mod submit;
mod submit_set;
mod tasks;
mod token_check;
mod tokens;
mod trial;
mod update;
mod upgrade;
mod watch;
mod what_if;

use crate::core::Core;
use crate::history_catch_up::KEPT_PATH;
pub use audit::AuditPath;
use audited::Auditor;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use common::wire::node::NODE_PATH;
use common::wire::peer::PEER_PATH;
use leader::Relay;
pub use openapi::show as openapi;
pub use slurm::{in_slurms_form, is_slurms};
use std::sync::Arc;
pub use token_check::{has_roles as token_has_roles, invalid_token_refusal};

/// Where a controller joins.
const CONTROLLERS_PATH: &str = "/v1/controllers";
/// Where a node gets its first certificate.
const ENROL_PATH: &str = "/v1/enrolments/join";

/// All routes, for the local socket, the TLS port and the HTTP port. Requests that only the leader
/// can answer are forwarded to it.
pub fn router(core: Arc<Core>) -> Router {
    let auditor = Auditor { audit: core.audit.clone(), clock: core.clock.clone() };
    let relay = Arc::new(Relay::new(core.clone(), core.peers.identity.clone()));
    let leader_socket = from_fn_with_state(core.clone(), leader_socket::check);
    let rights = || from_fn_with_state(core.clone(), right_check::check);
    let routes = Router::new()
        .merge(
            leader_routes()
                .merge(stream_routes())
                .merge(slurm::routes())
                .route_layer(rights())
                .route_layer(from_fn_with_state(relay, leader::answer_or_forward)),
        )
        .merge(leader_socket_routes().route_layer(rights()).route_layer(leader_socket))
        .merge(local_routes().merge(slurm::local_routes()).route_layer(rights()))
        .fallback(error::no_such_path)
        .layer(from_fn_with_state(core.clone(), body_limit::limit_body))
        .layer(from_fn_with_state(core.clone(), caller_check::check))
        .layer(from_fn_with_state(auditor, audited::audit_change))
        .layer(DefaultBodyLimit::max(body_limit::BODY_BYTES_MAX))
        .with_state(core);
    // Around the router, which must see the path without its slash.
    Router::new()
        .fallback_service(routes)
        .layer(from_fn(slurm::in_slurms_form))
        .layer(from_fn(slurm::remove_trailing_slash))
}

/// Routes of reports: what is used, and what was.
fn report_routes() -> Router<Arc<Core>> {
    Router::new()
        .route("/v1/idle-gpus", get(idle_gpus::list))
        .route("/v1/metrics", get(metrics::show))
        .route("/v1/accounting/jobs", get(accounting::jobs))
        .route("/v1/accounting/nodes", get(accounting::nodes))
        .route("/v1/history", get(history::list))
        .route("/v1/report", get(history::report))
        .route("/v1/report/estimates", get(history::estimates))
}

/// Routes that the leader answers; another controller forwards them.
fn leader_routes() -> Router<Arc<Core>> {
    report_routes()
        .route("/v1/jobs", post(submit::submit).get(jobs::list))
        .route("/v1/jobs/batch", post(batch::submit))
        .route("/v1/jobs/set", post(submit_set::submit))
        .route("/v1/jobs/trial", post(trial::try_out))
        .route("/v1/jobs/{key}", get(jobs::show))
        .route("/v1/jobs/{key}/cancel", post(jobs::cancel))
        .route("/v1/jobs/{key}/signal", post(signal::signal))
        .route("/v1/jobs/{key}/hold", post(jobs::hold))
        .route("/v1/jobs/{key}/release", post(jobs::release))
        .route("/v1/jobs/{key}/requeue", post(jobs::requeue))
        .route("/v1/jobs/{key}/suspend", post(jobs::suspend))
        .route("/v1/jobs/{key}/resume", post(jobs::resume))
        .route("/v1/jobs/{key}/checkpoint", post(jobs::checkpoint))
        .route("/v1/jobs/{key}/resize", post(jobs::resize))
        .route("/v1/jobs/{key}/update", post(update::update))
        .route("/v1/jobs/{key}/wait", get(jobs::wait))
        .route("/v1/jobs/{key}/explain", get(jobs::explain))
        .route("/v1/jobs/{key}/what-if", post(what_if::what_if))
        .route("/v1/jobs/{key}/solve", post(solve::solve))
        .route("/v1/jobs/{key}/script", get(output::script))
        .route("/v1/jobs/{key}/output", get(output::read))
        .route("/v1/jobs/{key}/tasks", post(tasks::start))
        .route("/v1/jobs/{key}/tasks/{task}", get(tasks::watch))
        .route("/v1/jobs/{key}/tasks/{task}/signal", post(tasks::signal))
        .route(
            "/v1/jobs/{key}/tasks/{task}/input",
            post(tasks::send_input).layer(DefaultBodyLimit::max(tasks::FEED_BYTES_MAX)),
        )
        .route("/v1/jobs/{key}/steps", get(steps::list).post(steps::handle_step_request))
        .route("/v1/jobs/{key}/attend", post(lease::renew_lease))
        .route("/v1/jobs/{key}/finish", post(lease::finish_leased_job))
        .route("/v1/nodes", get(nodes::list))
        .route("/v1/nodes/{name}", get(nodes::show))
        .route("/v1/map", get(nodes::map))
        .route("/v1/nodes/{name}/drain", post(nodes::drain))
        .route("/v1/nodes/{name}/resume", post(nodes::resume))
        .route("/v1/enrolments", get(enrolments::list))
        .route("/v1/cluster-key", get(cluster_key::show))
        .route("/v1/upgrade", get(upgrade::show))
        .route("/v1/invitations", get(invitations::list))
        .route("/v1/invitations/{id}/withdraw", post(invitations::withdraw))
        .route("/v1/enrolments/{name}/revoke", post(enrolments::revoke))
        .route("/v1/reservations", get(reservations::list).post(reservations::create))
        .route("/v1/reservations/{name}/update", post(reservations::update))
        .route("/v1/reservations/{name}/delete", post(reservations::delete))
        .route("/v1/services", get(services::list).post(services::deploy))
        .route("/v1/services/{name}", get(services::show))
        .route("/v1/services/{name}/scale", post(services::scale))
        .route("/v1/services/{name}/rollback", post(services::roll_back))
        .route("/v1/services/{name}/pause", post(services::pause))
        .route("/v1/services/{name}/resume", post(services::resume))
        .route("/v1/services/{name}/promote", post(services::promote))
        .route("/v1/services/{name}/stop", post(services::stop))
        .route("/v1/services/{name}/explain", get(services::explain))
        .route("/v1/services/{name}/endpoints", get(services::list_endpoints))
        .route("/v1/queues", get(nodes::queues))
        .route("/v1/accounts", get(history::accounts))
        .route("/v1/priority", get(priority::list))
        .route("/v1/share", get(share::list))
        .route("/v1/tokens", post(tokens::create).get(tokens::list))
        .route("/v1/tokens/{id}/revoke", post(tokens::revoke))
}

/// The same, with answers that do not end by themselves.
fn stream_routes() -> Router<Arc<Core>> {
    Router::new()
        .route("/v1/watch", get(watch::watch))
        .route("/v1/events", get(events::events))
        .route("/v1/jobs/{key}/output/events", get(output_events::events))
}

/// Routes that the leader answers on its local socket only; they are not forwarded.
fn leader_socket_routes() -> Router<Arc<Core>> {
    Router::new()
        .route("/v1/backup", get(backup::send_backup))
        .route("/v1/reload", post(reload::reload))
        .route("/v1/controllers/invite", post(controllers::invite))
        .route("/v1/enrolments/invite", post(enrolments::invite))
        .route("/v1/cluster-key/rotate", post(cluster_key::rotate))
        .route("/v1/cluster-key/advance", post(cluster_key::advance_without_laggards))
        .route("/v1/cluster-key/cancel", post(cluster_key::cancel))
        .route("/v1/cluster-key/adopt", post(cluster_key::adopt_own_key))
        .route("/v1/controllers/{id}/promote", post(controllers::promote))
        .route("/v1/controllers/{id}/remove", post(controllers::remove))
        .route("/v1/controllers/{id}/transfer", post(controllers::transfer))
}

/// Routes that every controller answers itself. Nodes that connect are redirected to the leader.
fn local_routes() -> Router<Arc<Core>> {
    Router::new()
        .route("/v1/status", get(nodes::status))
        .route("/v1/openapi.json", get(openapi::show))
        .route("/v1/audit", get(audit::list))
        .route(KEPT_PATH, get(history::list_own_records))
        .route("/v1/controllers", get(controllers::list).post(controllers::join))
        .route("/v1/enrolments/join", post(enrolments::enrol))
        .route("/v1/enrolments/renew", post(enrolments::renew))
        .route("/v1/cluster-key/generation", get(cluster_key::generation))
        .route("/v1/cluster-key/offer", post(cluster_key::accept_offered_key))
        .route(PEER_PATH, get(controllers::channel))
        .route(NODE_PATH, get(nodes::channel))
}
