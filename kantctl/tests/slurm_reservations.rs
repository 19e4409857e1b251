//! Bookings in Slurm's words: what of them the controller is asked.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;
#[path = "house/lab.rs"]
#[allow(dead_code)] // its house is taken, not its answers
mod lab;
#[path = "house/lab_cluster.rs"]
mod lab_cluster;
#[path = "house/linked.rs"]
#[allow(dead_code)] // each test file uses its part
mod linked;

use linked::slurm;
use serde_json::{Value, json as value};

#[tokio::test]
async fn scontrol_makes_changes_and_deletes_reservations() {
    let house = lab::lab();
    let line = "scontrol create reservation starttime=2030-01-01T08:00:00 duration=90 nodes=ALL \
                user=root flags=maint,ignore_jobs";
    let words: Vec<&str> = line.split_whitespace().collect();
    let done = slurm(&house, &words).await;
    assert_eq!(done.good(), "Reservation created: resv_1\n");
    assert!(done.err.contains("Flags=MAINT"), "{done:?}");
    let asked = |what: &str| -> Value {
        let asked = house.asked().into_iter().rev().find(|asked| asked.what == what);
        asked.unwrap_or_else(|| panic!("{what} was not asked: {:?}", house.questions())).body
    };
    let body = asked("POST /v1/reservations");
    assert_eq!(body["nodes"], value!(["g-001", "g-002", "g-003", "c-001"]));
    assert_eq!((&body["maintenance"], &body["users"]), (&value!(true), &value!([])));
    let length = body["to"].as_u64().unwrap() - body["from"].as_u64().unwrap();
    assert_eq!((body["from"].as_u64(), length), (Some(1_893_484_800_000), 90 * 60_000));

    let line = "scontrol update ReservationName=exam Duration=2:00:00 Users=eve Nodes=g-[001-002]";
    let done = slurm(&house, &line.split(' ').collect::<Vec<_>>()).await;
    assert_eq!(done.good(), "Reservation updated.\n");
    let begun = lab_cluster::booking()["from"].as_u64().unwrap();
    let expected = value!({
        "nodes": ["g-001", "g-002"], "users": ["eve"], "to": begun + 2 * 3_600_000
    });
    assert_eq!(asked("POST /v1/reservations/exam/update"), expected, "what is not said stays");

    for words in [&["delete", "ReservationName=exam"][..], &["delete", "reservation", "exam"]] {
        slurm(&house, &[&["scontrol"], words].concat()).await.good();
    }
    let deleted = house.questions().into_iter().filter(|what| what.ends_with("/exam/delete"));
    assert_eq!(deleted.count(), 2);
}
