//! A job's script, or one of its steps.

use super::tres::{measured_tres, tres};
use super::{Row, cpu_time, seconds};
use crate::field::{Field, in_all_versions, object, only_v38, since_v40};
use crate::job_line::{Line, LinePart};
use crate::version::Version;
use common::time::Span;
use serde_json::{Value, json};

/// The script or step that the line shows.
pub(super) fn step(line: &Line<'_>, version: Version) -> Value {
    let mut fields = object(version, ROWS, |value| value(line));
    let used = measured_tres(line, version);
    let (requested, consumed) = match version.is_plain() {
        true => (json!({ "max": used, "average": used }), json!({ "max": used, "average": used })),
        false => {
            let each = json!({ "max": used, "min": [], "average": used, "total": used });
            (each.clone(), each)
        }
    };
    let tres = json!({
        "requested": requested, "consumed": consumed, "allocated": tres(line, version, true),
    });
    fields.insert("tres".to_owned(), tres);
    Value::Object(fields)
}

const ROWS: &[Row] = &[
    (in_all_versions("time.elapsed"), |l| Field::Same(json!(l.elapsed().seconds()))),
    (in_all_versions("time.end"), |l| Field::Time(l.end())),
    (in_all_versions("time.start"), |l| Field::Time(l.start())),
    (in_all_versions("time.suspended"), |l| Field::Same(json!(l.job.suspended.seconds()))),
    (in_all_versions("time.system"), |_| seconds(Span(0))),
    (since_v40("time.limit").since_version(Version::V43), |_| Field::Limit(None)),
    (in_all_versions("time.total"), |l| seconds(cpu_time(l))),
    (in_all_versions("time.user"), |_| seconds(Span(0))),
    (in_all_versions("exit_code"), |l| Field::ExitObject(l.exit())),
    (in_all_versions("nodes.count"), |l| Field::Same(json!(l.node_count()))),
    (in_all_versions("nodes.range"), |l| Field::text(l.nodes())),
    (in_all_versions("nodes.list"), |l| Field::Same(json!([l.nodes()]))),
    (in_all_versions("tasks.count"), |l| Field::integer_value(l.tasks())),
    (only_v38("pid"), |_| Field::Same(Value::Null)),
    (since_v40("pid"), |_| Field::text("")),
    (in_all_versions("CPU.requested_frequency.min"), |_| Field::Count(Some(0))),
    (in_all_versions("CPU.requested_frequency.max"), |_| Field::Count(Some(0))),
    (in_all_versions("CPU.governor"), |_| Field::text("0")),
    (in_all_versions("kill_request_user"), |_| Field::Same(Value::Null)),
    (in_all_versions("state"), |l| Field::Word(l.state().0.to_owned())),
    (in_all_versions("statistics.CPU.actual_frequency"), |_| Field::integer_value(0)),
    (in_all_versions("statistics.energy.consumed"), |l| {
        let gpu = l.job.usage.filter(|_| l.is_batch()).and_then(|used| used.gpu);
        Field::Number(gpu.map(|gpu| gpu.energy_joules))
    }),
    (only_v38("step.job_id"), |l| Field::integer_value(l.job.key.job.0)),
    (only_v38("step.het.component"), |_| Field::Same(Value::Null)),
    (only_v38("step.id"), |l| Field::text(id_and_name(l).0)),
    (since_v40("step.id"), |l| {
        let job = l.job.number.unwrap_or(l.job.key.job);
        Field::text(format!("{job}.{}", id_and_name(l).0))
    }),
    (in_all_versions("step.name"), |l| Field::text(id_and_name(l).1)),
    (since_v40("step.stderr").since_version(Version::V43), |_| Field::text("")),
    (since_v40("step.stdin").since_version(Version::V43), |_| Field::text("")),
    (since_v40("step.stdout").since_version(Version::V43), |_| Field::text("")),
    (since_v40("step.stderr_expanded").since_version(Version::V43), |_| Field::text("")),
    (since_v40("step.stdin_expanded").since_version(Version::V43), |_| Field::text("")),
    (since_v40("step.stdout_expanded").since_version(Version::V43), |_| Field::text("")),
    (in_all_versions("task.distribution"), |_| Field::text("Unknown")),
];

/// `batch`, or the step's number and name.
fn id_and_name<'a>(line: &'a Line<'_>) -> (String, &'a str) {
    match line.part {
        LinePart::Step(step) => (step.number.to_string(), step.name.as_str()),
        _ => ("batch".to_owned(), "batch"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::check_table;

    #[test]
    fn no_field_stands_in_the_way_of_another() {
        check_table(ROWS);
    }
}
