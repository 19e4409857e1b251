//! `kantctl history` with more runs than it shows: the number of runs requested and shown.

use crate::support::{NOW, TestController, job, json};
use common::job::{Outcome, Phase};
use serde_json::json as value;

/// Accounting with endless runs: every page is full and has a next page.
fn endless() -> TestController {
    TestController::answering(|request, _| {
        let asked_for = |name: &str| {
            let (_, rest) = request.line.split_once(name)?;
            rest.split('&').next()?.parse::<u32>().ok()
        };
        let (limit, after) = (asked_for("limit=").unwrap(), asked_for("after=").unwrap_or(0));
        let run = |number: u32| {
            let job = job(&number.to_string(), Phase::Done, Some(Outcome::Completed));
            value!({ "job": job, "run": 1, "allocated_at": NOW, "gpu_milliseconds": 7 })
        };
        let runs: Vec<_> = (after + 1..=after + limit).map(run).collect();
        json(value!({ "runs": runs, "next": (after + limit).to_string(), "as_of": NOW }))
    })
}

#[tokio::test]
async fn without_a_limit_the_latest_ten_thousand_runs_are_shown_with_a_note() {
    let controller = endless();
    let done = controller.kantctl(&["history", "--format", "id"]).await;
    assert_eq!(done.good().lines().count(), 1 + 10_000);
    assert!(done.err.contains("the latest 10000") && done.err.contains("--limit"), "{}", done.err);
    assert_eq!(controller.request_lines().len(), 2, "pages of 5000");
}

#[tokio::test]
async fn csv_is_printed_page_by_page_under_one_header() {
    let controller = endless();
    let words = ["history", "--csv", "--format", "id", "--limit", "12000"];
    let done = controller.kantctl(&words).await;
    let lines: Vec<&str> = done.good().lines().collect();
    assert_eq!((lines.len(), lines[0], lines[1], lines[12_000]), (12_001, "id", "1", "12000"));
    assert_eq!(lines.iter().filter(|line| **line == "id").count(), 1);
    assert_eq!(controller.request_lines().len(), 3);
}
