//! Reservations with scontrol: the requests sent to the controller.

use crate::support::slurm_link::slurm;
use crate::support::{sample_answers, sample_cluster};
use serde_json::{Value, json as value};

#[tokio::test]
async fn scontrol_creates_updates_and_deletes_reservations() {
    let controller = sample_answers::controller();
    let line = "scontrol create reservation starttime=2030-01-01T08:00:00 duration=90 nodes=ALL \
                user=root flags=maint,ignore_jobs";
    let words: Vec<&str> = line.split_whitespace().collect();
    let done = slurm(&controller, &words).await;
    assert_eq!(done.good(), "Reservation created: resv_1\n");
    assert!(done.err.contains("Flags=MAINT"), "{done:?}");
    let body_of = |line: &str| -> Value {
        let request = controller.requests().into_iter().rev().find(|request| request.line == line);
        request.unwrap_or_else(|| panic!("no {line} in {:?}", controller.request_lines())).body
    };
    let body = body_of("POST /v1/reservations");
    assert_eq!(body["nodes"], value!(["g-001", "g-002", "g-003", "c-001"]));
    assert_eq!((&body["maintenance"], &body["users"]), (&value!(true), &value!([])));
    let length = body["to"].as_u64().unwrap() - body["from"].as_u64().unwrap();
    assert_eq!((body["from"].as_u64(), length), (Some(1_893_484_800_000), 90 * 60_000));

    let line = "scontrol update ReservationName=exam Duration=2:00:00 Users=eve Nodes=g-[001-002]";
    let done = slurm(&controller, &line.split(' ').collect::<Vec<_>>()).await;
    assert_eq!(done.good(), "Reservation updated.\n");
    let begun = sample_cluster::booking()["from"].as_u64().unwrap();
    let expected = value!({
        "nodes": ["g-001", "g-002"], "users": ["eve"], "to": begun + 2 * 3_600_000
    });
    assert_eq!(body_of("POST /v1/reservations/exam/update"), expected, "other fields are not sent");

    for words in [&["delete", "ReservationName=exam"][..], &["delete", "reservation", "exam"]] {
        slurm(&controller, &[&["scontrol"], words].concat()).await.good();
    }
    let deleted =
        controller.request_lines().into_iter().filter(|what| what.ends_with("/exam/delete"));
    assert_eq!(deleted.count(), 2);
}
