//! `kantctl checkpoint`, against a controller with scripted answers.

use crate::support::{NOW, TestController, finish, json, refusal};
use serde_json::{Value, json as value};

fn controller() -> TestController {
    TestController::answering(|request, _| match request.line.as_str() {
        "POST /v1/jobs/42_7/checkpoint" => json(value!({ "jobs": ["42_7"], "checkpoint_at": NOW })),
        "POST /v1/jobs/42+1/checkpoint" => {
            json(value!({ "jobs": ["42", "43"], "checkpoint_at": NOW }))
        }
        _ => refusal(409, "cannot checkpoint job 9: it is PENDING"),
    })
}

#[tokio::test]
async fn inside_a_job_the_default_is_that_job() {
    let controller = controller();
    let mut inside = controller.command(&["checkpoint"]);
    inside.env("KANT_JOB_ID", "42_7").env("TZ", "UTC");
    let done = finish(inside.spawn().unwrap()).await;
    assert_eq!(done.good(), "job 42_7: work up to 2023-11-14 22:13:20 is saved\n");
    let mut named = controller.command(&["checkpoint", "42+1", "--json"]);
    named.env("KANT_JOB_ID", "42_7");
    let done = finish(named.spawn().unwrap()).await;
    let answer: Value = serde_json::from_str(done.good()).unwrap();
    assert_eq!(answer, value!({ "jobs": ["42", "43"], "checkpoint_at": NOW }));
    let asked = ["POST /v1/jobs/42_7/checkpoint", "POST /v1/jobs/42+1/checkpoint"];
    assert_eq!(controller.request_lines(), asked);
}

#[tokio::test]
async fn outside_a_job_an_id_is_required_and_a_refusal_is_reported() {
    let controller = controller();
    let words = ["this does not run inside a job", "kantctl checkpoint 42"];
    controller.kantctl(&["checkpoint"]).await.refused(2, &words);
    controller.kantctl(&["checkpoint", "x"]).await.refused(2, &["x"]);
    assert_eq!(controller.requests().len(), 0);
    controller.kantctl(&["checkpoint", "9"]).await.refused(1, &["it is PENDING"]);
}
