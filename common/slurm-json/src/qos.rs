//! Qualities of service, as GET /slurmdb/{version}/qos shows them.
//! Source: Slurm's OpenAPI documents, `qos`.

use crate::account_job::tres_of_limits;
use crate::field::{Field, Place, in_all_versions, object, since_v40};
use crate::version::Version;
use common::policy::qos::Qos;
use serde_json::{Value, json};

/// A QoS, its position in the configuration, and the version.
struct Of<'a> {
    qos: &'a Qos,
    place: usize,
    version: Version,
}

/// A field, and how it is computed from a QoS.
type Row = (Place, fn(&Of<'_>) -> Field);

/// A QoS; `place` is its position in the configuration, from 1.
#[must_use]
pub fn qos(qos: &Qos, place: usize, version: Version) -> Value {
    let of = Of { qos, place, version };
    Value::Object(object(version, ROWS, |value| value(&of)))
}

const ROWS: &[Row] = &[
    (in_all_versions("description"), |q| Field::text(&q.qos.name)),
    (in_all_versions("flags"), |_| empty_list()),
    (in_all_versions("id"), |q| Field::Same(json!(q.place))),
    (in_all_versions("limits.grace_time"), |_| Field::integer_value(0)),
    (since_v40("limits.max.active_jobs.accruing"), |_| Field::Limit(None)),
    (since_v40("limits.max.active_jobs.count"), |q| Field::Limit(q.qos.limits.jobs.map(u64::from))),
    (in_all_versions("limits.max.jobs.active_jobs.per.account"), |_| Field::Limit(None)),
    (in_all_versions("limits.max.jobs.active_jobs.per.user"), |q| {
        Field::Limit(q.qos.limits_per_user.jobs.map(u64::from))
    }),
    (since_v40("limits.max.jobs.count").since_version(Version::V42), |_| Field::Limit(None)),
    (in_all_versions("limits.max.jobs.per.account"), |_| Field::Limit(None)),
    (in_all_versions("limits.max.jobs.per.user"), |_| Field::Limit(None)),
    (since_v40("limits.max.accruing.per.account"), |_| Field::Limit(None)),
    (since_v40("limits.max.accruing.per.user"), |_| Field::Limit(None)),
    (in_all_versions("limits.max.tres.total"), |q| {
        Field::Same(tres_of_limits(&q.qos.limits, q.version))
    }),
    (since_v40("limits.max.tres.minutes.total").since_version(Version::V42), |_| empty_list()),
    (in_all_versions("limits.max.tres.minutes.per.qos"), |_| empty_list()),
    (in_all_versions("limits.max.tres.minutes.per.job"), |_| empty_list()),
    (in_all_versions("limits.max.tres.minutes.per.account"), |_| empty_list()),
    (in_all_versions("limits.max.tres.minutes.per.user"), |_| empty_list()),
    (in_all_versions("limits.max.tres.per.account"), |_| empty_list()),
    (in_all_versions("limits.max.tres.per.job"), |_| empty_list()),
    (in_all_versions("limits.max.tres.per.node"), |_| empty_list()),
    (in_all_versions("limits.max.tres.per.user"), |q| {
        Field::Same(tres_of_limits(&q.qos.limits_per_user, q.version))
    }),
    (in_all_versions("limits.max.wall_clock.per.qos"), |_| Field::Limit(None)),
    (in_all_versions("limits.max.wall_clock.per.job"), |q| Field::minutes(q.qos.time_limit_max)),
    (in_all_versions("limits.factor"), |_| Field::Real(1.0)),
    (in_all_versions("limits.min.priority_threshold"), |_| Field::Limit(None)),
    (in_all_versions("limits.min.tres.per.job"), |_| empty_list()),
    (in_all_versions("name"), |q| Field::text(&q.qos.name)),
    (in_all_versions("preempt.list"), |_| empty_list()),
    (in_all_versions("preempt.mode"), |q| {
        let is_preemptible = q.qos.preemptible == Some(true);
        Field::Same(json!([if is_preemptible { "REQUEUE" } else { "DISABLED" }]))
    }),
    (in_all_versions("preempt.exempt_time"), |_| Field::Number(None)),
    (in_all_versions("priority"), |q| {
        Field::Count(Some(u64::try_from(q.qos.priority).unwrap_or(0)))
    }),
    (in_all_versions("usage_factor"), |_| Field::Real(1.0)),
    (in_all_versions("usage_threshold"), |_| Field::Real(0.0)),
];

fn empty_list() -> Field {
    Field::Same(json!([]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::check_table;
    use common::id::QosName;
    use common::policy::{Access, Limits};
    use common::time::Span;
    use common::unit::Cpus;

    #[test]
    fn a_qos_has_its_priority_and_its_limits() {
        check_table(ROWS);
        let high = Qos {
            name: QosName::new("high").unwrap(),
            priority: 10,
            access: Access::default(),
            preemptible: Some(true),
            time_limit_max: Some(Span::from_minutes(90)),
            limits: Limits { cpus: Some(Cpus(64)), ..Limits::default() },
            limits_per_user: Limits { jobs: Some(2), ..Limits::default() },
        };
        let number = |number| json!({ "set": true, "infinite": false, "number": number });
        for version in Version::all().filter(|version| *version > Version::V38) {
            let shown = qos(&high, 1, version);
            assert_eq!((&shown["name"], &shown["id"]), (&json!("high"), &json!(1)));
            assert_eq!(shown["priority"], number(10));
            let max = &shown["limits"]["max"];
            assert_eq!(max["wall_clock"]["per"]["job"], number(90));
            assert_eq!(max["jobs"]["active_jobs"]["per"]["user"], number(2));
            assert_eq!(max["tres"]["total"][0]["type"], "cpu");
            assert_eq!(shown["preempt"]["mode"], json!(["REQUEUE"]));
            assert_eq!(max["jobs"].get("count").is_some(), version >= Version::V42, "{version}");
        }
        assert_eq!(qos(&high, 1, Version::V38)["priority"], 10);
    }
}
