//! The cluster: controllers, nodes, partitions and reservations.

use super::super::error::ApiFailure;
use super::super::reservations::reservation_views;
use super::{Slurm, no_such, nodes_and_queues};
use crate::core::Core;
use crate::host_names::user_name;
use axum::extract::{Path, State};
use axum::response::Response;
use common::id::NodeName;
use common::reason::Refusal;
use common::wire::api::{NodeView, QueueList};
use serde_json::{Map, Value};
use slurm_json::frame::list;
use slurm_json::node::{NodeContext, node as show_node, nodes_of};
use slurm_json::partition::partition as show_partition;
use slurm_json::partitions::partitions as leaf_queues;
use slurm_json::ping::ping as show_ping;
use slurm_json::reservation::reservation as show_reservation;
use slurm_json::{Version, field};
use std::sync::Arc;

/// GET /slurm/{version}/ping and /slurmdb/{version}/ping
pub async fn ping(State(core): State<Arc<Core>>, slurm: Slurm) -> Result<Response, ApiFailure> {
    let leads = *core.leading.borrow();
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    Ok(slurm.answer(show_ping(&host.unwrap_or_default(), leads, slurm.version)))
}

/// GET /slurm/{version}/nodes
pub async fn nodes(State(core): State<Arc<Core>>, slurm: Slurm) -> Result<Response, ApiFailure> {
    answer_nodes(core, slurm, None).await
}

/// GET /slurm/{version}/node/{name}
pub async fn node(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, ApiFailure> {
    answer_nodes(core, slurm, Some(name)).await
}

async fn answer_nodes(
    core: Arc<Core>,
    slurm: Slurm,
    name: Option<String>,
) -> Result<Response, ApiFailure> {
    let name = name.map(|name| name.parse::<NodeName>()).transpose()?;
    let (cluster, now) = (core.cluster_name(), core.now());
    slurm
        .answer_slowly(&core, move |state, viewer, version| {
            let (mut nodes, queues) = nodes_and_queues(state, viewer);
            if let Some(name) = name {
                nodes.retain(|node| node.name == name);
                if nodes.is_empty() {
                    return Err(Refusal::UnknownNode { name }.into());
                }
            }
            let shown = nodes.iter().map(|node| node_fields(node, &queues, &cluster, version));
            let mut fields = list("nodes", shown.collect());
            add_update_time(&mut fields, now, version);
            Ok(fields)
        })
        .await
}

fn node_fields(node: &NodeView, queues: &QueueList, cluster: &str, version: Version) -> Value {
    let drained_by = node.drain.as_ref().map(|drain| user_name(drain.by.0));
    let drained_by = drained_by.as_deref();
    show_node(&NodeContext { node, queues, cluster, drained_by }, version)
}

/// When the list was made, from 0.0.40 on.
fn add_update_time(fields: &mut Map<String, Value>, now: common::time::Time, version: Version) {
    if !version.is_plain() {
        let at = field::Field::Time(Some(now)).to_json(version);
        fields.insert("last_update".to_owned(), at);
    }
}

/// GET /slurm/{version}/partitions
pub async fn partitions(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
) -> Result<Response, ApiFailure> {
    answer_partitions(core, slurm, None).await
}

/// GET /slurm/{version}/partition/{name}
pub async fn partition(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, ApiFailure> {
    answer_partitions(core, slurm, Some(name)).await
}

async fn answer_partitions(
    core: Arc<Core>,
    slurm: Slurm,
    name: Option<String>,
) -> Result<Response, ApiFailure> {
    let (cluster, now) = (core.cluster_name(), core.now());
    slurm
        .answer_slowly(&core, move |state, viewer, version| {
            let (nodes, queues) = nodes_and_queues(state, viewer);
            let named = leaf_queues(&queues)
                .filter(|queue| name.as_deref().is_none_or(|name| queue.name.as_str() == name));
            let shown: Vec<Value> = named
                .map(|queue| show_partition(queue, &nodes_of(queue, &nodes), &cluster, version))
                .collect();
            if let Some(name) = name.filter(|_| shown.is_empty()) {
                return Err(no_such("partition", "unknown_partition", &name));
            }
            let mut fields = list("partitions", shown);
            add_update_time(&mut fields, now, version);
            Ok(fields)
        })
        .await
}

/// GET /slurm/{version}/reservations
pub async fn reservations(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
) -> Result<Response, ApiFailure> {
    answer_reservations(core, slurm, None).await
}

/// GET /slurm/{version}/reservation/{name}
pub async fn reservation(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, ApiFailure> {
    answer_reservations(core, slurm, Some(name)).await
}

async fn answer_reservations(
    core: Arc<Core>,
    slurm: Slurm,
    name: Option<String>,
) -> Result<Response, ApiFailure> {
    let wanted = name.clone();
    let found = reservation_views(&core, &slurm.user, move |one| {
        wanted.as_deref().is_none_or(|name| one.as_str() == name)
    })
    .await?;
    if let Some(name) = name.filter(|_| found.reservations.is_empty()) {
        return Err(no_such("reservation", "unknown_reservation", &name));
    }
    let now = found.as_of;
    slurm
        .answer_slowly(&core, move |state, viewer, version| {
            let nodes = query::view::node_list(state, viewer).nodes;
            let shown = found.reservations.iter();
            let shown = shown.map(|one| show_reservation(one, &nodes, version)).collect();
            let mut fields = list("reservations", shown);
            add_update_time(&mut fields, now, version);
            Ok(fields)
        })
        .await
}

/// GET /slurm/{version}/licenses: kant counts no licences, so there are none.
pub async fn licenses(State(core): State<Arc<Core>>, slurm: Slurm) -> Result<Response, ApiFailure> {
    let mut fields = list("licenses", Vec::new());
    add_update_time(&mut fields, core.now(), slurm.version);
    Ok(slurm.answer(fields))
}
