//! The API: who asks (the kernel or a node's certificate says so), what they may, and answers as
//! JSON. A controller that does not lead passes on what it is asked. Never writes to the state but
//! by a command in the log; never believes a name in a body.

mod accounting;
mod audited;
mod backup;
mod batch;
mod controllers;
mod error;
mod held;
mod history;
mod jobs;
mod large;
mod leader;
mod look;
mod metrics;
mod nodes;
mod on_the_leader;
mod origin;
mod output;
mod priority;
mod reload;
mod reservations;
mod share;
mod shelf;
mod signal;
mod solve;
mod steps;
mod submit;
mod submit_set;
mod tasks;
mod trial;
mod update;
mod vouched;
mod watch;
mod what_if;

pub use jobs::user_name;
pub use watch::Watched;

use crate::core::Core;
use crate::history::KEPT_PATH;
use crate::machine::StateMachine;
use crate::peers::Peers;
use audited::Auditor;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::{Extension, Router};
use common::wire::node::NODE_PATH;
use common::wire::peer::PEER_PATH;
use leader::Relay;
use std::sync::Arc;

/// All routes, for the local socket and the TLS port alike. `peers` are the other controllers: what
/// only the leader can answer is passed on to that one.
pub fn router(core: Arc<Core>, peers: Arc<Peers<StateMachine>>) -> Router {
    let auditor = Auditor { audit: core.audit.clone(), clock: core.clock.clone() };
    let relay = Arc::new(Relay::new(core.clone(), peers.identity.clone()));
    let on_the_leader = from_fn_with_state(core.clone(), on_the_leader::check);
    Router::new()
        .merge(of_leader().route_layer(from_fn_with_state(relay, leader::answers_or_passes_on)))
        .merge(of_leaders_socket().route_layer(on_the_leader))
        .merge(of_anyone())
        .fallback(error::no_such_path)
        .layer(Extension(peers))
        .layer(from_fn_with_state(core.clone(), large::in_turn))
        .layer(from_fn_with_state(core.clone(), vouched::check))
        .layer(from_fn_with_state(auditor, audited::audited))
        .layer(DefaultBodyLimit::max(large::BODY_BYTES_MAX))
        .with_state(core)
}

/// What the leader answers, whoever is asked.
fn of_leader() -> Router<Arc<Core>> {
    Router::new()
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
            post(tasks::feed).layer(DefaultBodyLimit::max(tasks::FEED_BYTES_MAX)),
        )
        .route("/v1/jobs/{key}/steps", get(steps::list).post(steps::wish))
        .route("/v1/jobs/{key}/attend", post(held::attend))
        .route("/v1/jobs/{key}/finish", post(held::finish))
        .route("/v1/nodes", get(nodes::list))
        .route("/v1/nodes/{name}", get(nodes::show))
        .route("/v1/nodes/{name}/drain", post(nodes::drain))
        .route("/v1/nodes/{name}/resume", post(nodes::resume))
        .route("/v1/reservations", get(reservations::list).post(reservations::create))
        .route("/v1/reservations/{name}/update", post(reservations::update))
        .route("/v1/reservations/{name}/delete", post(reservations::delete))
        .route("/v1/queues", get(nodes::queues))
        .route("/v1/accounts", get(history::accounts))
        .route("/v1/priority", get(priority::list))
        .route("/v1/share", get(share::list))
        .route("/v1/metrics", get(metrics::show))
        .route("/v1/accounting/jobs", get(accounting::jobs))
        .route("/v1/accounting/nodes", get(accounting::nodes))
        .route("/v1/history", get(history::list))
        .route("/v1/watch", get(watch::watch))
        .route("/v1/report", get(history::report))
}

/// What the leader answers on its own socket, and is not passed on to it.
fn of_leaders_socket() -> Router<Arc<Core>> {
    Router::new()
        .route("/v1/backup", get(backup::show))
        .route("/v1/reload", post(reload::reload))
        .route("/v1/controllers/invite", post(controllers::invite))
        .route("/v1/controllers/{id}/promote", post(controllers::promote))
        .route("/v1/controllers/{id}/remove", post(controllers::remove))
        .route("/v1/controllers/{id}/transfer", post(controllers::transfer))
}

/// What every controller answers for itself. A node is told there who leads.
fn of_anyone() -> Router<Arc<Core>> {
    Router::new()
        .route("/v1/status", get(nodes::status))
        .route(KEPT_PATH, get(history::kept))
        .route("/v1/controllers", get(controllers::list).post(controllers::join))
        .route(PEER_PATH, get(controllers::channel))
        .route(NODE_PATH, get(nodes::channel))
}
