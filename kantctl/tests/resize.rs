//! `kantctl resize`, against a controller that answers as it is told.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;

use house::{House, json, refusal};
use serde_json::json as value;

#[tokio::test]
async fn each_job_is_asked_for_its_size_though_one_is_refused() {
    let house = House::answering(|asked, _| match asked.what.as_str() {
        "POST /v1/jobs/42/resize" => json(value!({ "jobs": ["42"] })),
        _ => refusal(409, "job 43 would keep 1 task, and asked for at least 2"),
    });
    let done = house.kantctl(&["resize", "42", "43", "--nodes", "2"]).await;
    assert_eq!(done.code, Some(1));
    assert!(done.err.contains("asked for at least 2"), "{}", done.err);
    assert_eq!(done.out, "Resized 42\n");
    assert_eq!(house.asked()[0].body, value!({ "size": { "nodes": 2 } }));
    house.kantctl(&["resize", "42", "-n", "16"]).await.good();
    assert_eq!(house.asked()[2].body, value!({ "size": { "tasks": 16 } }));
}

#[tokio::test]
async fn a_size_is_one_number_of_one_thing() {
    let house = House::empty();
    for words in
        [&["resize", "42"][..], &["resize", "42", "-N", "0"], &["resize", "42", "-N1", "-n1"]]
    {
        assert_eq!(house.kantctl(words).await.code, Some(2), "{words:?}");
    }
    assert_eq!(house.asked().len(), 0);
}
