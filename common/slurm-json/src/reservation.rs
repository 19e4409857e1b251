//! Reservations as GET /slurm/{version}/reservations shows them.
//! Source: Slurm's OpenAPI documents, `reservation_info` (0.0.38: `reservation`).

use crate::field::{Field, Place, in_all_versions, object, only_v38, since_v40};
use crate::version::Version;
use common::hostlist::compress;
use common::wire::api::{NodeView, ReservationView};
use serde_json::{Value, json};

/// A reservation and its nodes, as far as they are known.
#[derive(Clone, Copy)]
struct Of<'a> {
    reservation: &'a ReservationView,
    nodes: &'a [&'a NodeView],
}

/// A field, and how it is computed from a reservation.
type Row = (Place, fn(&Of<'_>) -> Field);

/// A reservation; `nodes` are all nodes of the cluster.
#[must_use]
pub fn reservation(reservation: &ReservationView, nodes: &[NodeView], version: Version) -> Value {
    let own = nodes.iter().filter(|node| reservation.nodes.contains(&node.name));
    let own: Vec<&NodeView> = own.collect();
    let of = Of { reservation, nodes: &own };
    Value::Object(object(version, ROWS, |value| value(&of)))
}

const ROWS: &[Row] = &[
    (in_all_versions("accounts"), |r| comma_separated(&r.reservation.accounts)),
    (in_all_versions("burst_buffer"), |_| Field::text("")),
    (in_all_versions("core_count"), |r| {
        let cores = r.nodes.iter().map(|node| node.inventory.cores.len());
        Field::Same(json!(cores.sum::<usize>()))
    }),
    (only_v38("core_spec_cnt"), |_| Field::integer_value(0)),
    (since_v40("core_specializations"), |_| Field::Same(json!([]))),
    (in_all_versions("end_time"), |r| Field::Time(Some(r.reservation.to))),
    (in_all_versions("features"), |_| Field::text("")),
    (in_all_versions("flags"), |r| {
        let is_maintenance = r.reservation.maintenance;
        Field::Same(if is_maintenance {
            json!(["MAINT", "SPEC_NODES"])
        } else {
            json!(["SPEC_NODES"])
        })
    }),
    (in_all_versions("groups"), |r| comma_separated(&r.reservation.groups)),
    (in_all_versions("licenses"), |_| Field::text("")),
    (in_all_versions("max_start_delay"), |_| Field::integer_value(0)),
    (in_all_versions("name"), |r| Field::text(&r.reservation.name)),
    (in_all_versions("node_count"), |r| Field::Same(json!(r.reservation.nodes.len()))),
    (in_all_versions("node_list"), |r| Field::text(compress(&r.reservation.nodes))),
    (in_all_versions("partition"), |_| Field::text("")),
    (in_all_versions("purge_completed.time"), |_| Field::Count(None)),
    (in_all_versions("start_time"), |r| Field::Time(Some(r.reservation.from))),
    (only_v38("watts"), |_| Field::integer_value(0)),
    (since_v40("watts").until_version(Version::V44), |_| Field::Number(None)),
    (in_all_versions("tres"), |r| {
        let cpus: u32 = r.nodes.iter().map(|node| node.inventory.cpu_count().0).sum();
        Field::text(format!("cpu={cpus}"))
    }),
    (in_all_versions("users"), |r| comma_separated(&r.reservation.users)),
];

/// Names separated by commas.
fn comma_separated(names: &[impl ToString]) -> Field {
    Field::text(names.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::check_table;
    use common::id::{NodeName, ReservationName};
    use common::time::Time;

    #[test]
    fn a_reservation_has_the_fields_of_each_version() {
        check_table(ROWS);
        let view = ReservationView {
            name: ReservationName::new("maint").unwrap(),
            nodes: ["g-1", "g-2"].map(|name| NodeName::new(name).unwrap()).into(),
            from: Time(60_000),
            to: Time(120_000),
            users: vec!["ada".to_owned(), "bob".to_owned()],
            groups: Vec::new(),
            accounts: Vec::new(),
            maintenance: true,
            by: "root".to_owned(),
            comment: String::new(),
            jobs: Vec::new(),
        };
        let old = reservation(&view, &[], Version::V38);
        assert_eq!((&old["start_time"], &old["end_time"]), (&json!(60), &json!(120)));
        assert_eq!(old["node_list"], "g-[1-2]");
        assert_eq!((&old["core_spec_cnt"], &old["watts"]), (&json!(0), &json!(0)));
        let new = reservation(&view, &[], Version::V44);
        assert_eq!(new["start_time"], json!({ "set": true, "infinite": false, "number": 60 }));
        assert_eq!(new["users"], "ada,bob");
        assert_eq!(new["flags"], json!(["MAINT", "SPEC_NODES"]));
        assert_eq!(new.get("core_spec_cnt"), None);
        assert_eq!(reservation(&view, &[], Version::V45).get("watts"), None);
    }
}
