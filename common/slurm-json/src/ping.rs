//! The controller that answers, as GET /slurm/{version}/ping shows it.
//! Source: Slurm's OpenAPI documents, `controller_ping` (0.0.38: `ping`).

use crate::field::{Field, Place, in_all_versions, object, only_v38, since_v40};
use crate::frame::list;
use crate::version::Version;
use serde_json::{Map, Value};

/// The host that answers, and whether it leads.
#[derive(Clone, Copy)]
struct Answering<'a> {
    host: &'a str,
    leads: bool,
}

/// A field, and how it is computed.
type Row = (Place, fn(&Answering<'_>) -> Field);

/// The list of the one controller that answers.
#[must_use]
pub fn ping(host: &str, leads: bool, version: Version) -> Map<String, Value> {
    let answering = Answering { host, leads };
    list("pings", vec![Value::Object(object(version, ROWS, |value| value(&answering)))])
}

const ROWS: &[Row] = &[
    (in_all_versions("hostname"), |a| Field::text(a.host)),
    (only_v38("ping"), |_| Field::text("UP")),
    (since_v40("pinged"), |_| Field::text("UP")),
    (since_v40("latency"), |_| Field::integer_value(0)),
    (in_all_versions("mode"), |a| Field::text(if a.leads { "primary" } else { "backup" })),
    (only_v38("status"), |_| Field::integer_value(0)),
    (since_v40("responding").since_version(Version::V41), |_| Field::flag(true)),
    (since_v40("primary").since_version(Version::V41), |a| Field::flag(a.leads)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_controller_answers_in_the_words_of_each_version() {
        let shown = |version| ping("head", true, version)["pings"][0].clone();
        let old = json!({ "hostname": "head", "ping": "UP", "mode": "primary", "status": 0 });
        assert_eq!(shown(Version::V38), old);
        let new = json!({ "hostname": "head", "pinged": "UP", "latency": 0, "mode": "primary" });
        assert_eq!(shown(Version::V40), new);
        assert_eq!(shown(Version::V42)["primary"], true);
    }
}
