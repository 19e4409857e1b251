//! `kantctl resize`, against a controller with scripted answers.

use crate::support::{TestController, json, refusal};
use serde_json::json as value;

#[tokio::test]
async fn every_job_is_resized_even_if_one_is_refused() {
    let controller = TestController::answering(|request, _| match request.line.as_str() {
        "POST /v1/jobs/42/resize" => json(value!({ "jobs": ["42"] })),
        _ => refusal(409, "job 43 would keep 1 task, and requested at least 2"),
    });
    let done = controller.kantctl(&["resize", "42", "43", "--nodes", "2"]).await;
    assert_eq!(done.code, Some(1));
    assert!(done.err.contains("requested at least 2"), "{}", done.err);
    assert_eq!(done.out, "Resized 42\n");
    assert_eq!(controller.requests()[0].body, value!({ "size": { "nodes": 2 } }));
    controller.kantctl(&["resize", "42", "-n", "16"]).await.good();
    assert_eq!(controller.requests()[2].body, value!({ "size": { "tasks": 16 } }));
}

#[tokio::test]
async fn a_size_is_either_nodes_or_tasks_and_above_zero() {
    let controller = TestController::empty();
    for words in
        [&["resize", "42"][..], &["resize", "42", "-N", "0"], &["resize", "42", "-N1", "-n1"]]
    {
        assert_eq!(controller.kantctl(words).await.code, Some(2), "{words:?}");
    }
    assert_eq!(controller.requests().len(), 0);
}
