//! `kantctl export`: the requests to the controller, the files, and the messages. The simulator's
//! tests replay exported files.

use crate::support::{TestController, refusal};
use axum::response::IntoResponse;
use serde_json::{Value, json as value};

const JOBS: &str = "job_id,submit_s,runtime_s,nodes,gpus_per_node\n1,0,60,1,8\n";
const NODES: &str = "name,gpus\ng1,8\n";

fn cluster() -> TestController {
    TestController::answering(|request, _| match request.line.split('?').next().unwrap() {
        "GET /v1/accounting/jobs" => {
            ([("x-kant-jobs", "1"), ("x-kant-left-out", "2")], JOBS).into_response()
        }
        "GET /v1/accounting/nodes" => ([("x-kant-nodes", "1")], NODES).into_response(),
        _ => refusal(404, "no such path"),
    })
}

#[tokio::test]
async fn jobs_and_nodes_are_written_unchanged() {
    let controller = cluster();
    let done = controller.kantctl(&["export", "--jobs", "j.csv", "--nodes", "n.csv"]).await;
    let text = "Wrote 1 jobs to j.csv (left out: 2 waiting or never started)\n\
                Wrote 1 nodes to n.csv\n";
    assert_eq!(done.good(), text);
    assert_eq!(std::fs::read_to_string(controller.dir.path().join("j.csv")).unwrap(), JOBS);
    assert_eq!(std::fs::read_to_string(controller.dir.path().join("n.csv")).unwrap(), NODES);
    let since = ["export", "--jobs", "j.csv", "--since", "2020-01-01T00:00:00Z", "--json"];
    let done = controller.kantctl(&since).await;
    let answer: Value = serde_json::from_str(done.good()).unwrap();
    assert_eq!(answer, value!({ "jobs": { "file": "j.csv", "written": 1, "left_out": 2 } }));
    let asked = controller.request_lines().pop().unwrap();
    assert_eq!(asked, "GET /v1/accounting/jobs?since=1577836800000");
}

#[tokio::test]
async fn invalid_options_and_unwritable_files_are_reported() {
    let controller = cluster();
    controller.kantctl(&["export"]).await.refused(2, &["--jobs"]);
    controller.kantctl(&["export", "--jobs", "j", "--since", "soon"]).await.refused(2, &["7d"]);
    let nowhere = ["export", "--jobs", "no/j.csv"];
    controller.kantctl(&nowhere).await.refused(1, &["failed to write no/j.csv"]);
}
