//! The resources that a job has.

use super::Row;
use crate::field::{Field, in_all_versions, since_v40};
use crate::job_line::Line;
use crate::version::Version;
use common::hostlist::compress;
use common::job::Phase;
use common::resource::Share;
use serde_json::{Value, json};

pub(super) const ROWS: &[Row] = &[
    (since_v40("allocating_node"), |l| Field::text(&l.job.ask.submit_host)),
    (in_all_versions("batch_host"), |l| {
        Field::text_or_empty(shares(l).next().map(|share| &share.node))
    }),
    (in_all_versions("billable_tres"), |l| Field::Real(f64::from(l.cpus()))),
    (in_all_versions("cpus"), |l| Field::Count(Some(l.job.cpus.0.into()))),
    (in_all_versions("gres_detail"), |l| Field::Same(gres_detail(l))),
    (in_all_versions("job_resources").until_version(Version::V40), |l| {
        if has_begun(l) { Field::Same(node_list_until_v40(l)) } else { Field::Same(json!({})) }
    }),
    (since_v40("job_resources").since_version(Version::V41), |l| {
        if has_begun(l) { Field::Same(node_list_since_v41(l)) } else { Field::Absent }
    }),
    (since_v40("job_size_str"), |_| Field::Same(json!([]))),
    (in_all_versions("node_count"), |l| Field::Count(u64::try_from(l.node_count()).ok())),
    (in_all_versions("nodes"), |l| Field::text(l.nodes())),
    (since_v40("scheduled_nodes"), |_| Field::text("")),
    (in_all_versions("tres_alloc_str"), |l| {
        Field::text(if has_begun(l) { l.tres() } else { String::new() })
    }),
];

fn shares<'a>(line: &Line<'a>) -> impl Iterator<Item = &'a Share> {
    line.job.allocation.iter().flat_map(|given| given.shares())
}

/// Whether it has had nodes.
fn has_begun(line: &Line<'_>) -> bool {
    line.job.phase != Phase::Pending && line.job.allocation.is_some()
}

/// For each node: `gpu:2(IDX:0,1)`.
fn gres_detail(line: &Line<'_>) -> Value {
    let detail = |share: &Share| {
        let gpus: Vec<String> = share.gpus.iter().map(ToString::to_string).collect();
        format!("gpu:{}(IDX:{})", gpus.len(), gpus.join(","))
    };
    shares(line).filter(|share| !share.gpus.is_empty()).map(detail).collect()
}

/// The allocation node by node, up to 0.0.40.
fn node_list_until_v40(line: &Line<'_>) -> Value {
    let nodes: Vec<Value> = shares(line)
        .map(|share| {
            json!({
                "nodename": share.node,
                "cpus_used": share.cpus.len(),
                "memory_used": share.memory.0 >> 20,
                "memory_allocated": share.memory.0 >> 20,
                "gpus_used": share.gpus,
            })
        })
        .collect();
    json!({
        "nodes": compress(shares(line).map(|share| &share.node)),
        "allocated_hosts": nodes.len(),
        "allocated_cpus": line.job.cpus.0,
        "allocated_cores": 0,
        "allocated_nodes": nodes,
    })
}

/// The allocation node by node, from 0.0.41 on.
fn node_list_since_v41(line: &Line<'_>) -> Value {
    let is_whole = line.job.ask.request.exclusive;
    let nodes: Vec<Value> = shares(line)
        .enumerate()
        .map(|(index, share)| {
            let memory = share.memory.0 >> 20;
            json!({
                "index": index,
                "name": share.node,
                "cpus": { "count": share.cpus.len(), "used": share.cpus.len() },
                "memory": { "used": memory, "allocated": memory },
                "sockets": [],
            })
        })
        .collect();
    json!({
        "select_type": ["CPU", "MEMORY"],
        "nodes": {
            "count": nodes.len(),
            "select_type": ["AVAILABLE"],
            "list": compress(shares(line).map(|share| &share.node)),
            "whole": is_whole,
            "allocation": nodes,
        },
        "cpus": line.job.cpus.0,
        "threads_per_core": Field::Number(None).to_json(Version::V41),
    })
}
