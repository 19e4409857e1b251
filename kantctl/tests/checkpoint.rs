//! `kantctl checkpoint`, against a controller that answers as it is told.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;

use house::{House, NOW, finish, json, refusal};
use serde_json::{Value, json as value};

fn controller() -> House {
    House::answering(|asked, _| match asked.what.as_str() {
        "POST /v1/jobs/42_7/checkpoint" => json(value!({ "jobs": ["42_7"], "checkpoint_at": NOW })),
        "POST /v1/jobs/42+1/checkpoint" => {
            json(value!({ "jobs": ["42", "43"], "checkpoint_at": NOW }))
        }
        _ => refusal(409, "cannot checkpoint job 9: it is PENDING"),
    })
}

#[tokio::test]
async fn inside_a_job_it_is_that_job() {
    let house = controller();
    let mut inside = house.command(&["checkpoint"]);
    inside.env("KANT_JOB_ID", "42_7").env("TZ", "UTC");
    let done = finish(inside.spawn().unwrap()).await;
    assert_eq!(done.good(), "job 42_7: work up to 2023-11-14 22:13:20 is saved\n");
    let mut named = house.command(&["checkpoint", "42+1", "--json"]);
    named.env("KANT_JOB_ID", "42_7");
    let done = finish(named.spawn().unwrap()).await;
    let answer: Value = serde_json::from_str(done.good()).unwrap();
    assert_eq!(answer, value!({ "jobs": ["42", "43"], "checkpoint_at": NOW }));
    let asked = ["POST /v1/jobs/42_7/checkpoint", "POST /v1/jobs/42+1/checkpoint"];
    assert_eq!(house.questions(), asked);
}

#[tokio::test]
async fn outside_a_job_is_named_and_a_refusal_is_told() {
    let house = controller();
    let words = ["this does not run inside a job", "kantctl checkpoint 42"];
    house.kantctl(&["checkpoint"]).await.refused(2, &words);
    house.kantctl(&["checkpoint", "x"]).await.refused(2, &["x"]);
    assert_eq!(house.asked().len(), 0);
    house.kantctl(&["checkpoint", "9"]).await.refused(1, &["it is PENDING"]);
}
