//! Jobs with their steps as `sacct --json` and GET /slurmdb/{version}/jobs show them. The script is
//! a step of its own.
//! Source: Slurm's OpenAPI documents, `job` and `step` of slurmdb.

mod step;
mod tres;

use crate::field::{Field, Place, in_all_versions, object, only_v38, since_v40};
use crate::job::{priority, wckey};
use crate::job_file::{stderr, stdin, stdout};
use crate::job_line::{Line, LinePart};
use crate::version::Version;
use common::job::StepRecord;
use common::resource::MemoryRequest;
use common::time::Span;
use serde_json::{Value, json};
use tres::tres;
pub(crate) use tres::tres_of_limits;

/// A field, and how it is computed from a job.
type Row = (Place, fn(&Line<'_>) -> Field);

/// A job or array task, with its steps.
#[must_use]
pub fn job(line: &Line<'_>, steps: &[StepRecord], version: Version) -> Value {
    let script = line.job.started_at.map(|_| LinePart::Batch);
    let parts = script.into_iter().chain(steps.iter().map(LinePart::Step));
    let steps: Vec<Value> =
        parts.map(|part| step::step(&Line { part, ..*line }, version)).collect();
    let mut fields = object(version, ROWS, |value| value(line));
    fields.insert("steps".to_owned(), Value::Array(steps));
    let tres = json!({
        "allocated": tres(line, version, true), "requested": tres(line, version, false),
    });
    fields.insert("tres".to_owned(), tres);
    Value::Object(fields)
}

const ROWS: &[Row] = &[
    (in_all_versions("account"), |l| Field::text_or_empty(l.job.ask.account.as_ref())),
    (only_v38("comment.administrator"), |_| Field::Same(Value::Null)),
    (since_v40("comment.administrator"), |_| Field::text("")),
    (only_v38("comment.job"), |l| Field::Same(json!(l.job.ask.comment))),
    (since_v40("comment.job"), |l| Field::text_or_empty(l.job.ask.comment.as_ref())),
    (only_v38("comment.system"), |_| Field::Same(Value::Null)),
    (since_v40("comment.system"), |_| Field::text("")),
    (in_all_versions("allocation_nodes"), |l| {
        Field::Same(json!(if l.job.allocation.is_some() { l.node_count() } else { 0 }))
    }),
    (in_all_versions("array.job_id"), |l| {
        Field::integer_value(l.job.key.index.map_or(0, |_| l.job.key.job.0))
    }),
    (in_all_versions("array.limits.max.running.tasks"), |l| {
        Field::integer_value(l.job.array_limit.unwrap_or(0))
    }),
    (only_v38("array.task"), |_| Field::Same(Value::Null)),
    (since_v40("array.task"), |_| Field::text("")),
    (in_all_versions("array.task_id"), |l| {
        Field::Number(l.job.key.index.map(|index| index.0.into()))
    }),
    (in_all_versions("association.account"), |l| Field::text_or_empty(l.job.ask.account.as_ref())),
    (in_all_versions("association.cluster"), |l| Field::text(&l.page.cluster)),
    (only_v38("association.partition"), |_| Field::Same(Value::Null)),
    (since_v40("association.partition"), |_| Field::text("")),
    (in_all_versions("association.user"), |l| Field::text(&l.job.owner.name)),
    (since_v40("association.id"), |_| Field::integer_value(0)),
    (since_v40("block"), |_| Field::text("")),
    (in_all_versions("cluster"), |l| Field::text(&l.page.cluster)),
    (in_all_versions("constraints"), |l| {
        Field::text_or_empty(l.job.ask.request.constraint.as_ref().map(ToString::to_string))
    }),
    (since_v40("container"), |l| Field::text_or_empty(l.job.ask.container.as_ref())),
    (in_all_versions("derived_exit_code"), |l| Field::ExitObject(l.exit())),
    (in_all_versions("time.elapsed"), |l| Field::Same(json!(l.elapsed().seconds()))),
    (in_all_versions("time.eligible"), |l| Field::Seconds(Some(l.eligible_at()))),
    (in_all_versions("time.end"), |l| Field::Seconds(l.end())),
    (since_v40("time.planned").since_version(Version::V41), |l| {
        let waited = l.job.started_at.map(|at| at.since(l.eligible_at()).seconds());
        Field::Number(waited)
    }),
    (in_all_versions("time.start"), |l| Field::Seconds(l.start())),
    (in_all_versions("time.submission"), |l| Field::Seconds(Some(l.job.submitted_at))),
    (in_all_versions("time.suspended"), |l| Field::Same(json!(l.job.suspended.seconds()))),
    (in_all_versions("time.system"), |_| seconds(Span(0))),
    (only_v38("time.limit"), |l| Field::Number(limit_minutes(l))),
    (since_v40("time.limit"), |l| Field::Limit(limit_minutes(l))),
    (in_all_versions("time.total"), |l| seconds(cpu_time(l))),
    (in_all_versions("time.user"), |_| seconds(Span(0))),
    (in_all_versions("exit_code"), |l| Field::ExitObject(l.exit())),
    (since_v40("extra"), |_| Field::text("")),
    (since_v40("failed_node"), |_| Field::text("")),
    (in_all_versions("flags"), |_| Field::Same(json!([]))),
    (in_all_versions("group"), |l| {
        let gid = l.job.owner.gid;
        Field::text(l.page.groups.get(&gid).cloned().unwrap_or_else(|| gid.to_string()))
    }),
    (in_all_versions("het.job_id"), |l| {
        Field::integer_value(l.job.set.map_or(0, |set| set.first.0))
    }),
    (in_all_versions("het.job_offset"), |l| Field::Number(l.job.set.map(|set| set.offset.into()))),
    (since_v40("hold"), |l| Field::flag(l.job.held)),
    (in_all_versions("job_id"), |l| Field::integer_value(l.job.number.unwrap_or(l.job.key.job).0)),
    (in_all_versions("kill_request_user"), |l| match l.job.cancelled_by {
        Some(by) => Field::text(by),
        None => Field::Same(Value::Null),
    }),
    (since_v40("licenses"), |_| Field::text("")),
    (in_all_versions("mcs.label"), |_| Field::text("")),
    (in_all_versions("name"), |l| Field::text(&l.job.ask.name)),
    (in_all_versions("nodes"), |l| {
        Field::text(match l.nodes().as_str() {
            "" => "None assigned",
            nodes => nodes,
        })
    }),
    (in_all_versions("partition"), |l| Field::text_or_empty(l.job.ask.queue.as_ref())),
    (in_all_versions("priority"), |l| Field::Count(Some(priority(l)))),
    (in_all_versions("qos"), |l| Field::text_or_empty(l.job.ask.qos.as_ref())),
    (since_v40("qosreq").since_version(Version::V42), |l| {
        Field::text_or_empty(l.job.ask.qos.as_ref())
    }),
    (in_all_versions("required.CPUs"), |l| Field::integer_value(l.job.cpus.0)),
    (only_v38("required.memory"), |l| Field::Same(json!(l.job.memory.0 >> 20))),
    (since_v40("required.memory_per_cpu"), |l| match l.job.ask.request.memory {
        Some(MemoryRequest::PerCpu(bytes)) => Field::Number(Some(bytes.0 >> 20)),
        _ => Field::Number(None),
    }),
    (since_v40("required.memory_per_node"), |l| match l.job.ask.request.memory {
        Some(MemoryRequest::PerNode(bytes)) => Field::Number(Some(bytes.0 >> 20)),
        _ => Field::Number(None),
    }),
    (in_all_versions("reservation.id"), |_| Field::integer_value(0)),
    (in_all_versions("reservation.name"), |l| Field::text_or_empty(l.job.ask.reservation.as_ref())),
    (since_v40("reservation.requested").since_version(Version::V43), |l| {
        Field::text_or_empty(l.job.ask.reservation.as_ref())
    }),
    (since_v40("restart_cnt").since_version(Version::V42), |l| {
        Field::integer_value(l.job.attempt.saturating_sub(1))
    }),
    (since_v40("script"), |_| Field::text("")),
    (since_v40("segment_size").since_version(Version::V43), |l| {
        Field::integer_value(l.job.ask.request.segment.map_or(0, |nodes| nodes.0))
    }),
    (since_v40("stderr").since_version(Version::V41), |l| {
        Field::text_or_empty(l.job.ask.stderr.as_ref())
    }),
    (since_v40("stdin").since_version(Version::V41), |l| {
        Field::text_or_empty(l.job.ask.stdin.as_ref())
    }),
    (since_v40("stdout").since_version(Version::V41), |l| Field::text(l.job.ask.stdout_pattern())),
    (since_v40("stderr_expanded").since_version(Version::V41), |l| Field::text(stderr(l.job))),
    (since_v40("stdin_expanded").since_version(Version::V41), |l| Field::text(stdin(l.job))),
    (since_v40("stdout_expanded").since_version(Version::V41), |l| Field::text(stdout(l.job))),
    (in_all_versions("state.current"), |l| Field::Word(l.state().0.to_owned())),
    (in_all_versions("state.reason"), |l| Field::text(l.reason_or_end())),
    (since_v40("submit_line"), |_| Field::text("")),
    (since_v40("used_gres"), |_| Field::text("")),
    (in_all_versions("user"), |l| Field::text(&l.job.owner.name)),
    (in_all_versions("wckey.wckey"), wckey),
    (in_all_versions("wckey.flags"), |_| Field::Same(json!([]))),
    (in_all_versions("working_directory"), |l| Field::text(&l.job.ask.work_dir)),
];

fn limit_minutes(line: &Line<'_>) -> Option<u64> {
    line.job.ask.time_limit.map(|limit| limit.seconds().div_ceil(60))
}

/// CPU time.
fn cpu_time(line: &Line<'_>) -> Span {
    line.usage().map_or(Span(0), |usage| usage.cpu)
}

fn seconds(span: Span) -> Field {
    let microseconds = span.0 % 1000 * 1000;
    Field::Same(json!({ "seconds": span.seconds(), "microseconds": microseconds }))
}

#[cfg(test)]
mod tests;
