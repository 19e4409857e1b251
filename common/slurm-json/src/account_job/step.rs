//! A job's script, or one of its steps.

use super::tres::{measured, tres};
use super::{Row, seconds, used};
use crate::field::{Field, always, object, plain, stated};
use crate::job_line::{Line, LinePart};
use crate::version::Version;
use common::time::Span;
use serde_json::{Value, json};

/// The script or step that the line shows.
pub(super) fn step(line: &Line<'_>, version: Version) -> Value {
    let mut fields = object(version, ROWS, |value| value(line));
    let used = measured(line, version);
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
    (always("time.elapsed"), |l| Field::Same(json!(l.elapsed().seconds()))),
    (always("time.end"), |l| Field::Time(l.end())),
    (always("time.start"), |l| Field::Time(l.start())),
    (always("time.suspended"), |l| Field::Same(json!(l.job.suspended.seconds()))),
    (always("time.system"), |_| seconds(Span(0))),
    (stated("time.limit").from(Version::V43), |_| Field::Limit(None)),
    (always("time.total"), |l| seconds(used(l))),
    (always("time.user"), |_| seconds(Span(0))),
    (always("exit_code"), |l| Field::ExitObject(l.exit())),
    (always("nodes.count"), |l| Field::Same(json!(l.node_count()))),
    (always("nodes.range"), |l| Field::text(l.nodes())),
    (always("nodes.list"), |l| Field::Same(json!([l.nodes()]))),
    (always("tasks.count"), |l| Field::whole(l.tasks())),
    (plain("pid"), |_| Field::Same(Value::Null)),
    (stated("pid"), |_| Field::text("")),
    (always("CPU.requested_frequency.min"), |_| Field::Count(Some(0))),
    (always("CPU.requested_frequency.max"), |_| Field::Count(Some(0))),
    (always("CPU.governor"), |_| Field::text("0")),
    (always("kill_request_user"), |_| Field::Same(Value::Null)),
    (always("state"), |l| Field::Word(l.state().0.to_owned())),
    (always("statistics.CPU.actual_frequency"), |_| Field::whole(0)),
    (always("statistics.energy.consumed"), |l| {
        let gpu = l.job.usage.filter(|_| l.is_batch()).and_then(|used| used.gpu);
        Field::Number(gpu.map(|gpu| gpu.energy_joules))
    }),
    (plain("step.job_id"), |l| Field::whole(l.job.key.job.0)),
    (plain("step.het.component"), |_| Field::Same(Value::Null)),
    (plain("step.id"), |l| Field::text(id_and_name(l).0)),
    (stated("step.id"), |l| {
        let job = l.job.number.unwrap_or(l.job.key.job);
        Field::text(format!("{job}.{}", id_and_name(l).0))
    }),
    (always("step.name"), |l| Field::text(id_and_name(l).1)),
    (stated("step.stderr").from(Version::V43), |_| Field::text("")),
    (stated("step.stdin").from(Version::V43), |_| Field::text("")),
    (stated("step.stdout").from(Version::V43), |_| Field::text("")),
    (stated("step.stderr_expanded").from(Version::V43), |_| Field::text("")),
    (stated("step.stdin_expanded").from(Version::V43), |_| Field::text("")),
    (stated("step.stdout_expanded").from(Version::V43), |_| Field::text("")),
    (always("task.distribution"), |_| Field::text("Unknown")),
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
