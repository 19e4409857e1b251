//! Jobs with their steps as `sacct --json` and GET /slurmdb/{version}/jobs show them. The script is
//! a step of its own.
//! Source: Slurm's OpenAPI documents, `job` and `step` of slurmdb.

mod step;
mod tres;

use crate::field::{Field, Place, always, object, plain, stated};
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
    (always("account"), |l| Field::text_or_empty(l.job.ask.account.as_ref())),
    (plain("comment.administrator"), |_| Field::Same(Value::Null)),
    (stated("comment.administrator"), |_| Field::text("")),
    (plain("comment.job"), |l| Field::Same(json!(l.job.ask.comment))),
    (stated("comment.job"), |l| Field::text_or_empty(l.job.ask.comment.as_ref())),
    (plain("comment.system"), |_| Field::Same(Value::Null)),
    (stated("comment.system"), |_| Field::text("")),
    (always("allocation_nodes"), |l| {
        Field::Same(json!(if l.job.allocation.is_some() { l.node_count() } else { 0 }))
    }),
    (always("array.job_id"), |l| Field::whole(l.job.key.index.map_or(0, |_| l.job.key.job.0))),
    (always("array.limits.max.running.tasks"), |l| Field::whole(l.job.array_limit.unwrap_or(0))),
    (plain("array.task"), |_| Field::Same(Value::Null)),
    (stated("array.task"), |_| Field::text("")),
    (always("array.task_id"), |l| Field::Number(l.job.key.index.map(|index| index.0.into()))),
    (always("association.account"), |l| Field::text_or_empty(l.job.ask.account.as_ref())),
    (always("association.cluster"), |l| Field::text(&l.page.cluster)),
    (plain("association.partition"), |_| Field::Same(Value::Null)),
    (stated("association.partition"), |_| Field::text("")),
    (always("association.user"), |l| Field::text(&l.job.owner.name)),
    (stated("association.id"), |_| Field::whole(0)),
    (stated("block"), |_| Field::text("")),
    (always("cluster"), |l| Field::text(&l.page.cluster)),
    (always("constraints"), |l| {
        Field::text_or_empty(l.job.ask.request.constraint.as_ref().map(ToString::to_string))
    }),
    (stated("container"), |l| Field::text_or_empty(l.job.ask.container.as_ref())),
    (always("derived_exit_code"), |l| Field::ExitObject(l.exit())),
    (always("time.elapsed"), |l| Field::Same(json!(l.elapsed().seconds()))),
    (always("time.eligible"), |l| Field::Seconds(Some(l.eligible_at()))),
    (always("time.end"), |l| Field::Seconds(l.end())),
    (stated("time.planned").from(Version::V41), |l| {
        let waited = l.job.started_at.map(|at| at.since(l.eligible_at()).seconds());
        Field::Number(waited)
    }),
    (always("time.start"), |l| Field::Seconds(l.start())),
    (always("time.submission"), |l| Field::Seconds(Some(l.job.submitted_at))),
    (always("time.suspended"), |l| Field::Same(json!(l.job.suspended.seconds()))),
    (always("time.system"), |_| seconds(Span(0))),
    (plain("time.limit"), |l| Field::Number(limit_minutes(l))),
    (stated("time.limit"), |l| Field::Limit(limit_minutes(l))),
    (always("time.total"), |l| seconds(used(l))),
    (always("time.user"), |_| seconds(Span(0))),
    (always("exit_code"), |l| Field::ExitObject(l.exit())),
    (stated("extra"), |_| Field::text("")),
    (stated("failed_node"), |_| Field::text("")),
    (always("flags"), |_| Field::Same(json!([]))),
    (always("group"), |l| {
        let gid = l.job.owner.gid;
        Field::text(l.page.groups.get(&gid).cloned().unwrap_or_else(|| gid.to_string()))
    }),
    (always("het.job_id"), |l| Field::whole(l.job.set.map_or(0, |set| set.first.0))),
    (always("het.job_offset"), |l| Field::Number(l.job.set.map(|set| set.offset.into()))),
    (stated("hold"), |l| Field::flag(l.job.held)),
    (always("job_id"), |l| Field::whole(l.job.number.unwrap_or(l.job.key.job).0)),
    (always("kill_request_user"), |l| match l.job.cancelled_by {
        Some(by) => Field::text(by),
        None => Field::Same(Value::Null),
    }),
    (stated("licenses"), |_| Field::text("")),
    (always("mcs.label"), |_| Field::text("")),
    (always("name"), |l| Field::text(&l.job.ask.name)),
    (always("nodes"), |l| {
        Field::text(match l.nodes().as_str() {
            "" => "None assigned",
            nodes => nodes,
        })
    }),
    (always("partition"), |l| Field::text_or_empty(l.job.ask.queue.as_ref())),
    (always("priority"), |l| Field::Count(Some(priority(l)))),
    (always("qos"), |l| Field::text_or_empty(l.job.ask.qos.as_ref())),
    (stated("qosreq").from(Version::V42), |l| Field::text_or_empty(l.job.ask.qos.as_ref())),
    (always("required.CPUs"), |l| Field::whole(l.job.cpus.0)),
    (plain("required.memory"), |l| Field::Same(json!(l.job.memory.0 >> 20))),
    (stated("required.memory_per_cpu"), |l| match l.job.ask.request.memory {
        Some(MemoryRequest::PerCpu(bytes)) => Field::Number(Some(bytes.0 >> 20)),
        _ => Field::Number(None),
    }),
    (stated("required.memory_per_node"), |l| match l.job.ask.request.memory {
        Some(MemoryRequest::PerNode(bytes)) => Field::Number(Some(bytes.0 >> 20)),
        _ => Field::Number(None),
    }),
    (always("reservation.id"), |_| Field::whole(0)),
    (always("reservation.name"), |l| Field::text_or_empty(l.job.ask.reservation.as_ref())),
    (stated("reservation.requested").from(Version::V43), |l| {
        Field::text_or_empty(l.job.ask.reservation.as_ref())
    }),
    (stated("restart_cnt").from(Version::V42), |l| Field::whole(l.job.attempt.saturating_sub(1))),
    (stated("script"), |_| Field::text("")),
    (stated("segment_size").from(Version::V43), |l| {
        Field::whole(l.job.ask.request.segment.map_or(0, |nodes| nodes.0))
    }),
    (stated("stderr").from(Version::V41), |l| Field::text_or_empty(l.job.ask.stderr.as_ref())),
    (stated("stdin").from(Version::V41), |l| Field::text_or_empty(l.job.ask.stdin.as_ref())),
    (stated("stdout").from(Version::V41), |l| Field::text(l.job.ask.stdout_pattern())),
    (stated("stderr_expanded").from(Version::V41), |l| Field::text(stderr(l.job))),
    (stated("stdin_expanded").from(Version::V41), |l| Field::text(stdin(l.job))),
    (stated("stdout_expanded").from(Version::V41), |l| Field::text(stdout(l.job))),
    (always("state.current"), |l| Field::Word(l.state().0.to_owned())),
    (always("state.reason"), |l| Field::text(l.reason_or_end())),
    (stated("submit_line"), |_| Field::text("")),
    (stated("used_gres"), |_| Field::text("")),
    (always("user"), |l| Field::text(&l.job.owner.name)),
    (always("wckey.wckey"), wckey),
    (always("wckey.flags"), |_| Field::Same(json!([]))),
    (always("working_directory"), |l| Field::text(&l.job.ask.work_dir)),
];

fn limit_minutes(line: &Line<'_>) -> Option<u64> {
    line.job.ask.time_limit.map(|limit| limit.seconds().div_ceil(60))
}

/// CPU time.
fn used(line: &Line<'_>) -> Span {
    line.usage().map_or(Span(0), |usage| usage.cpu)
}

fn seconds(span: Span) -> Field {
    let microseconds = span.0 % 1000 * 1000;
    Field::Same(json!({ "seconds": span.seconds(), "microseconds": microseconds }))
}

#[cfg(test)]
mod tests;
