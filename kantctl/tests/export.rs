//! What ran, as files: what is asked of the controller, where it goes, and what is said of it.
//! Never what the files hold: the simulator's tests replay those.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;

use axum::response::IntoResponse;
use house::{House, refusal};
use serde_json::{Value, json as value};

const JOBS: &str = "job_id,submit_s,runtime_s,nodes,gpus_per_node\n1,0,60,1,8\n";
const NODES: &str = "name,gpus\ng1,8\n";

fn cluster() -> House {
    House::answering(|asked, _| match asked.what.split('?').next().unwrap() {
        "GET /v1/accounting/jobs" => {
            ([("x-kant-jobs", "1"), ("x-kant-left-out", "2")], JOBS).into_response()
        }
        "GET /v1/accounting/nodes" => ([("x-kant-nodes", "1")], NODES).into_response(),
        _ => refusal(404, "no such path"),
    })
}

#[tokio::test]
async fn jobs_and_nodes_are_written_as_they_come() {
    let house = cluster();
    let done = house.kantctl(&["export", "--jobs", "j.csv", "--nodes", "n.csv"]).await;
    let told = "Wrote 1 jobs to j.csv (left out: 2 waiting or never started)\n\
                Wrote 1 nodes to n.csv\n";
    assert_eq!(done.good(), told);
    assert_eq!(std::fs::read_to_string(house.dir.path().join("j.csv")).unwrap(), JOBS);
    assert_eq!(std::fs::read_to_string(house.dir.path().join("n.csv")).unwrap(), NODES);
    let since = ["export", "--jobs", "j.csv", "--since", "2020-01-01T00:00:00Z", "--json"];
    let done = house.kantctl(&since).await;
    let answer: Value = serde_json::from_str(done.good()).unwrap();
    assert_eq!(answer, value!({ "jobs": { "file": "j.csv", "written": 1, "left_out": 2 } }));
    let asked = house.questions().pop().unwrap();
    assert_eq!(asked, "GET /v1/accounting/jobs?since=1577836800000");
}

#[tokio::test]
async fn what_cannot_be_written_or_makes_no_sense_is_said() {
    let house = cluster();
    house.kantctl(&["export"]).await.refused(2, &["--jobs"]);
    house.kantctl(&["export", "--jobs", "j", "--since", "soon"]).await.refused(2, &["7d"]);
    let nowhere = ["export", "--jobs", "no/j.csv"];
    house.kantctl(&nowhere).await.refused(1, &["failed to write no/j.csv"]);
}
