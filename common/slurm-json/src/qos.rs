//! Qualities of service, as GET /slurmdb/{version}/qos shows them.
//! Source: Slurm's OpenAPI documents, `qos`.

use crate::account_job::tres_of_limits;
use crate::field::{Field, Place, always, object, stated};
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
    (always("description"), |q| Field::text(&q.qos.name)),
    (always("flags"), |_| none()),
    (always("id"), |q| Field::Same(json!(q.place))),
    (always("limits.grace_time"), |_| Field::whole(0)),
    (stated("limits.max.active_jobs.accruing"), |_| Field::Limit(None)),
    (stated("limits.max.active_jobs.count"), |q| Field::Limit(q.qos.limits.jobs.map(u64::from))),
    (always("limits.max.jobs.active_jobs.per.account"), |_| Field::Limit(None)),
    (always("limits.max.jobs.active_jobs.per.user"), |q| {
        Field::Limit(q.qos.limits_per_user.jobs.map(u64::from))
    }),
    (stated("limits.max.jobs.count").from(Version::V42), |_| Field::Limit(None)),
    (always("limits.max.jobs.per.account"), |_| Field::Limit(None)),
    (always("limits.max.jobs.per.user"), |_| Field::Limit(None)),
    (stated("limits.max.accruing.per.account"), |_| Field::Limit(None)),
    (stated("limits.max.accruing.per.user"), |_| Field::Limit(None)),
    (always("limits.max.tres.total"), |q| Field::Same(tres_of_limits(&q.qos.limits, q.version))),
    (stated("limits.max.tres.minutes.total").from(Version::V42), |_| none()),
    (always("limits.max.tres.minutes.per.qos"), |_| none()),
    (always("limits.max.tres.minutes.per.job"), |_| none()),
    (always("limits.max.tres.minutes.per.account"), |_| none()),
    (always("limits.max.tres.minutes.per.user"), |_| none()),
    (always("limits.max.tres.per.account"), |_| none()),
    (always("limits.max.tres.per.job"), |_| none()),
    (always("limits.max.tres.per.node"), |_| none()),
    (always("limits.max.tres.per.user"), |q| {
        Field::Same(tres_of_limits(&q.qos.limits_per_user, q.version))
    }),
    (always("limits.max.wall_clock.per.qos"), |_| Field::Limit(None)),
    (always("limits.max.wall_clock.per.job"), |q| Field::minutes(q.qos.time_limit_max)),
    (always("limits.factor"), |_| Field::Real(1.0)),
    (always("limits.min.priority_threshold"), |_| Field::Limit(None)),
    (always("limits.min.tres.per.job"), |_| none()),
    (always("name"), |q| Field::text(&q.qos.name)),
    (always("preempt.list"), |_| none()),
    (always("preempt.mode"), |q| {
        let is_preemptible = q.qos.preemptible == Some(true);
        Field::Same(json!([if is_preemptible { "REQUEUE" } else { "DISABLED" }]))
    }),
    (always("preempt.exempt_time"), |_| Field::Number(None)),
    (always("priority"), |q| Field::Count(Some(u64::try_from(q.qos.priority).unwrap_or(0)))),
    (always("usage_factor"), |_| Field::Real(1.0)),
    (always("usage_threshold"), |_| Field::Real(0.0)),
];

fn none() -> Field {
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
