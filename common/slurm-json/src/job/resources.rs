//! The resources that a job has.

use super::Row;
use crate::field::{Field, always, stated};
use crate::job_line::Line;
use crate::version::Version;
use common::hostlist::fold;
use common::job::Phase;
use common::resource::Share;
use serde_json::{Value, json};

pub(super) const ROWS: &[Row] = &[
    (stated("allocating_node"), |l| Field::text(&l.job.ask.submit_host)),
    (always("batch_host"), |l| Field::text_or_empty(shares(l).next().map(|share| &share.node))),
    (always("billable_tres"), |l| Field::Real(f64::from(l.cpus()))),
    (always("cpus"), |l| Field::Count(Some(l.job.cpus.0.into()))),
    (always("gres_detail"), |l| Field::Same(gres_detail(l))),
    (always("job_resources").until(Version::V40), |l| {
        if has_begun(l) { Field::Same(listed(l)) } else { Field::Same(json!({})) }
    }),
    (stated("job_resources").from(Version::V41), |l| {
        if has_begun(l) { Field::Same(nested(l)) } else { Field::Absent }
    }),
    (stated("job_size_str"), |_| Field::Same(json!([]))),
    (always("node_count"), |l| Field::Count(u64::try_from(l.node_count()).ok())),
    (always("nodes"), |l| Field::text(l.nodes())),
    (stated("scheduled_nodes"), |_| Field::text("")),
    (always("tres_alloc_str"), |l| {
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
fn listed(line: &Line<'_>) -> Value {
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
        "nodes": fold(shares(line).map(|share| &share.node)),
        "allocated_hosts": nodes.len(),
        "allocated_cpus": line.job.cpus.0,
        "allocated_cores": 0,
        "allocated_nodes": nodes,
    })
}

/// The allocation node by node, from 0.0.41 on.
fn nested(line: &Line<'_>) -> Value {
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
            "list": fold(shares(line).map(|share| &share.node)),
            "whole": is_whole,
            "allocation": nodes,
        },
        "cpus": line.job.cpus.0,
        "threads_per_core": Field::Number(None).written(Version::V41),
    })
}
