//! The verbs that show and change jobs, against a controller with scripted answers.

use crate::support::{
    self, NOW, TestController, completed, finish, job, jobs, json, key_in, output, refusal,
    refused_as,
};
use axum::response::IntoResponse;
use common::job::{ExitStatus, Outcome, Phase};
use common::wire::api::{Explanation, TimelineEntry};
use serde_json::{Value, json as value};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn the_queue_lists_jobs_and_sends_filters_to_the_controller() {
    let controller = TestController::answering(|_, _| {
        json(jobs(vec![job("41", Phase::Running, None), job("42", Phase::Pending, None)]))
    });
    let expected = "\
ID  NAME  USER  QUEUE  STATE     TIME  LIMIT  NODES  GPUS  WHERE/WHY
41  job   ada   main   RUNNING  00:00      -      1     0
42  job   ada   main   PENDING      -      -      1     0  held: release it with `kantctl release`
";
    assert_eq!(controller.kantctl(&["queue"]).await.good(), expected);
    controller.kantctl(&["q", "--me", "-p", "main", "-w", "g1", "--all"]).await.good();
    let uid = nix::unistd::getuid();
    let query = format!("GET /v1/jobs?all=true&user={uid}&queue=main&node=g1&lines=true");
    assert_eq!(controller.request_lines(), ["GET /v1/jobs?lines=true".to_owned(), query]);
}

#[tokio::test]
async fn the_queue_applies_the_filters_that_the_controller_lacks() {
    let controller = TestController::answering(|_, _| {
        json(jobs(vec![job("41", Phase::Running, None), completed("42")]))
    });
    let done = controller.kantctl(&["queue", "--json", "-t", "running"]).await;
    let answer = parsed(done.good());
    assert_eq!(answer["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(answer["jobs"][0]["key"], "41");
    assert!(controller.kantctl(&["queue", "-u", "root,4001"]).await.good().lines().count() == 1);
}

#[tokio::test]
async fn an_interrupted_list_is_requested_again_and_each_job_shown_once() {
    let controller = TestController::answering(|request, before| {
        let list =
            json(jobs(vec![job("41", Phase::Pending, None), job("42", Phase::Pending, None)]));
        match (request.line.contains("lines=true"), before) {
            (true, 0) => support::cut_short(list),
            _ => list,
        }
    });
    let done = controller.kantctl(&["queue"]).await;
    assert_eq!(done.good().lines().count(), 3, "{done:?}");
    assert_eq!(done.err.matches("trying again").count(), 1, "{}", done.err);
    assert_eq!(controller.request_lines().len(), 2);
}

#[tokio::test]
async fn json_is_the_answer_unchanged() {
    let mut answer = jobs(vec![completed("42")]);
    answer["jobs"][0]["from_the_future"] = value!(1);
    answer["beside"] = value!({ "from": ["the", "future"] });
    let sent = answer.clone();
    let controller = TestController::answering(move |_, _| json(sent.clone()));
    for words in [vec!["queue"], vec!["show", "job", "42"], vec!["wait", "42"]] {
        let done = controller.kantctl(&[words, vec!["--json"]].concat()).await;
        assert_eq!(parsed(done.good()), answer);
    }
}

#[tokio::test]
async fn a_record_has_the_timeline() {
    let controller = TestController::answering(|_, _| {
        let mut job = completed("42");
        job.timeline.push(TimelineEntry { at: NOW, text: "submitted by ada".to_owned() });
        json(jobs(vec![job]))
    });
    let done = controller.kantctl(&["show", "job", "42"]).await;
    let text = done.good();
    assert!(text.starts_with("job         42\n") && text.contains("COMPLETED"), "{text}");
    assert!(text.ends_with("submitted by ada\n") && !text.contains('\u{1b}'), "{text}");
    assert_eq!(controller.request_lines(), ["GET /v1/jobs/42"]);
}

#[tokio::test]
async fn an_unknown_job_is_refused_by_the_controller_and_an_invalid_id_by_kantctl() {
    let controller = TestController::answering(|_, _| refusal(404, "there is no job 7"));
    for verb in [&["show", "job"][..], &["cancel"], &["wait"], &["logs"], &["explain"], &["hold"]] {
        let done = controller.kantctl(&[verb, &["7"]].concat()).await;
        done.refused(1, &["kantctl: there is no job 7", "hint: try something else"]);
        let before = controller.request_lines().len();
        let done = controller.kantctl(&[verb, &["seven"]].concat()).await;
        done.refused(2, &["'seven'", "a job's number (42)"]);
        controller.kantctl(&[verb, &["-7"]].concat()).await.refused(2, &["-7"]);
        controller.kantctl(verb).await.refused(2, &["required"]);
        assert_eq!(controller.request_lines().len(), before);
    }
}

#[tokio::test]
async fn every_job_is_changed_even_if_one_is_refused() {
    let controller = TestController::answering(|request, _| match key_in(&request.line) {
        "8" => refusal(409, "cannot cancel job 8: it has ended"),
        key => json(value!({ "jobs": [key] })),
    });
    let done = controller.kantctl(&["cancel", "7", "8,9_[0-1]"]).await;
    assert_eq!(done.code, Some(1));
    assert_eq!(done.out, "Cancelled 7\nCancelled 9_0\nCancelled 9_1\n");
    assert!(done.err.contains("job 8: it has ended"), "{}", done.err);
    for (verb, said) in
        [("hold", "Held 7\n"), ("release", "Released 7\n"), ("requeue", "Requeued 7\n")]
    {
        assert_eq!(controller.kantctl(&[verb, "7"]).await.good(), said);
        assert_eq!(controller.request_lines().last().unwrap(), &format!("POST /v1/jobs/7/{verb}"));
    }
    let done = controller.kantctl(&["cancel", "--json", "7", "9"]).await;
    assert_eq!(parsed(done.good()), value!({ "jobs": ["7", "9"] }));
    let done = controller.kantctl(&["cancel", "--json", "7", "8"]).await;
    assert_eq!(done.code, Some(1));
    let text = parsed(&done.out);
    assert_eq!(text["jobs"], value!(["7"]));
    assert_eq!(text["errors"][0]["of"], "8");
    assert_eq!(text["errors"][0]["message"], "cannot cancel job 8: it has ended");
}

#[tokio::test]
async fn a_failure_is_json_on_stdout_with_json_output() {
    let controller = TestController::answering(|_, _| refusal(404, "there is no job 7"));
    for line in [
        &["--json", "explain", "7"][..],
        &["--json", "show", "7"],
        &["--json", "reload"],
        &["--json", "submit", "--wrap", "true"],
    ] {
        let done = controller.kantctl(line).await;
        assert_eq!(done.code, Some(1), "{line:?}");
        let error = &parsed(&done.out)["error"];
        assert_eq!(error["message"], "there is no job 7", "{line:?}");
        assert_eq!(error["hint"], "try something else", "{line:?}");
        assert!(error["code"].is_string(), "{line:?}");
        assert!(done.err.contains("there is no job 7"), "{line:?}");
    }
}

#[tokio::test]
async fn releasing_a_job_that_is_not_held_is_reported_and_is_no_failure() {
    let controller = TestController::answering(|request, _| match key_in(&request.line) {
        "8" => refused_as("not_held", 409, "job 8 is not held"),
        key => json(value!({ "jobs": [key] })),
    });
    let done = controller.kantctl(&["release", "7", "8"]).await;
    assert_eq!((done.code, done.out.as_str()), (Some(0), "Released 7\n"));
    assert!(done.err.contains("job 8 is not held"), "{}", done.err);
}

#[tokio::test]
async fn cancelling_a_job_that_is_ending_is_reported_and_is_no_failure() {
    let controller = TestController::answering(|request, _| match key_in(&request.line) {
        "8" => refused_as("already_ending", 409, "job 8 is already ending"),
        key => json(value!({ "jobs": [key] })),
    });
    let done = controller.kantctl(&["cancel", "7", "8"]).await;
    assert_eq!((done.code, done.out.as_str()), (Some(0), "Cancelled 7\n"));
    assert!(done.err.contains("job 8 is already ending"), "{}", done.err);
}

#[tokio::test]
async fn waiting_jobs_are_cancelled_before_running_ones() {
    let controller = TestController::answering(|request, _| match request.line.as_str() {
        "GET /v1/jobs?user=ada&lines=true" => json(jobs(vec![
            job("41", Phase::Running, None),
            job("42", Phase::Pending, None),
            job("43", Phase::Starting, None),
            job("44", Phase::Pending, None),
        ])),
        _ => json(value!({})),
    });
    let done = controller.kantctl(&["cancel", "-u", "ada"]).await;
    assert_eq!(done.good(), "Cancelled 42\nCancelled 44\nCancelled 41\nCancelled 43\n");
    let asked = controller.request_lines();
    let place = |key| asked.iter().position(|what| key_in(what) == key).unwrap();
    assert!(place("42").max(place("44")) < place("41").min(place("43")), "{asked:?}");
    controller.kantctl(&["cancel"]).await.refused(2, &["--me", "--user"]);
}

#[tokio::test]
async fn many_jobs_are_changed_concurrently_and_reported_in_order() {
    let controller = TestController::answering(|request, _| match key_in(&request.line) {
        "7" => refused_as("already_done", 409, "job 7 has ended"),
        key => json(value!({ "jobs": [key] })),
    });
    let keys: Vec<String> = (1..=50).map(|key| key.to_string()).collect();
    let words: Vec<&str> =
        std::iter::once("cancel").chain(keys.iter().map(String::as_str)).collect();
    let done = controller.kantctl(&words).await;
    let text = keys.iter().filter(|key| *key != "7").map(|key| format!("Cancelled {key}\n"));
    assert_eq!((done.code, done.out), (Some(1), text.collect()));
    assert!(done.err.contains("job 7 has ended"), "{}", done.err);
    assert_eq!(controller.request_lines().len(), keys.len());
}

#[tokio::test]
async fn an_outage_of_the_controller_is_reported_once_for_all_requests() {
    let controller = TestController::answering(|request, before| match before {
        0..20 => refused_as("no-leader", 503, "no controller leads"),
        _ => json(value!({ "jobs": [key_in(&request.line)] })),
    });
    let keys: Vec<String> = (1..=30).map(|key| key.to_string()).collect();
    let mut words = vec!["cancel"];
    words.extend(keys.iter().map(String::as_str));
    let done = controller.kantctl(&words).await;
    assert_eq!(done.good().lines().count(), keys.len());
    assert_eq!(done.err.matches("trying again").count(), 1, "{}", done.err);
    assert_eq!(done.err.matches("answers again").count(), 1, "{}", done.err);
}

#[tokio::test]
async fn jobs_changed_before_the_controller_became_unreachable_are_reported() {
    let controller = TestController::answering(|request, _| match key_in(&request.line) {
        "1" => refused_as("no-leader", 503, "no controller leads"),
        key => json(value!({ "jobs": [key] })),
    });
    let keys: Vec<String> = (1..=40).map(|key| key.to_string()).collect();
    let mut words = vec!["--retry=0", "cancel"];
    words.extend(keys.iter().map(String::as_str));
    let done = controller.kantctl(&words).await;
    assert_eq!(done.code, Some(3), "{done:?}");
    let reported = done.err.matches("Cancelled ").count();
    assert_eq!(reported, controller.request_lines().len() - 1, "{}", done.err);
    assert!(reported < 39, "no request is sent for the other jobs");
}

#[tokio::test]
async fn an_unknown_user_is_an_error_and_not_an_empty_list() {
    let controller = TestController::answering(|request, _| {
        let theirs = request.line.contains("user=ada");
        json(jobs(if theirs { vec![job("41", Phase::Running, None)] } else { vec![] }))
    });
    for verb in ["queue", "cancel"] {
        let done = controller.kantctl(&[verb, "-u", "no-such-user"]).await;
        done.refused(1, &["there is no user no-such-user"]);
    }
    controller.kantctl(&["queue", "-u", "root"]).await.good();
    controller.kantctl(&["queue", "-u", "123456"]).await.good();
    assert!(controller.kantctl(&["queue", "-u", "ada"]).await.good().contains("41"), "by her jobs");
}

#[tokio::test]
async fn cancel_selects_jobs_by_filters() {
    let controller = TestController::answering(|request, _| match request.line.as_str() {
        "GET /v1/jobs?user=ada&lines=true" => {
            json(jobs(vec![job("41", Phase::Running, None), job("42", Phase::Pending, None)]))
        }
        "GET /v1/jobs?lines=true" => json(jobs(vec![])),
        _ => json(value!({})),
    });
    let done = controller.kantctl(&["cancel", "-u", "ada", "-t", "PD"]).await;
    assert_eq!(done.good(), "Cancelled 42\n");
    let done = controller.kantctl(&["cancel", "--name", "x"]).await;
    assert_eq!((done.good(), done.err.as_str()), ("", "kantctl: no matching jobs\n"));
}

#[tokio::test]
async fn an_unknown_state_is_refused() {
    let controller = TestController::answering(|_, _| json(jobs(vec![completed("42")])));
    for verb in ["queue", "cancel"] {
        let done = controller.kantctl(&[verb, "-t", "BOGUS"]).await;
        done.refused(2, &["'BOGUS'", "PENDING", "LAUNCH_FAILED"]);
        controller.kantctl(&[verb, "-t", "PD,BOGUS"]).await.refused(2, &["'BOGUS'"]);
    }
    assert!(controller.request_lines().is_empty());
    for state in ["COMPLETED", "completed", "CD", "pd,cd"] {
        let done = controller.kantctl(&["queue", "-t", state]).await;
        assert_eq!(done.good().lines().count(), 2, "{state}");
    }
}

#[tokio::test]
async fn a_bare_number_is_shown_as_a_job() {
    let controller = TestController::answering(|_, _| json(jobs(vec![completed("42")])));
    let whole = controller.kantctl(&["show", "job", "42"]).await;
    assert_eq!(controller.kantctl(&["show", "42"]).await.good(), whole.good());
    assert_eq!(controller.request_lines(), ["GET /v1/jobs/42", "GET /v1/jobs/42"]);
    controller.kantctl(&["show", "g1"]).await.refused(2, &["'g1'", "kantctl show node"]);
}

#[tokio::test]
async fn wait_exits_with_the_jobs_code() {
    let controller = TestController::answering(|request, _| {
        let mut job = job(key_in(&request.line), Phase::Done, Some(Outcome::Failed));
        match key_in(&request.line) {
            "1" => job = completed("1"),
            "3" => {}
            "9" => job.exit = Some(ExitStatus { code: 0, signal: Some(9) }),
            "5" => (job.outcome, job.exit) = (Some(Outcome::Cancelled), None),
            "6" => (job.outcome, job.exit) = (Some(Outcome::TimedOut), Some(ExitStatus::default())),
            _ => return refusal(404, "there is no such job"),
        }
        json(jobs(vec![job]))
    });
    for (keys, code) in [
        (vec!["1"], 0),
        (vec!["3"], 3),
        (vec!["9"], 137),
        (vec!["5"], 1),
        (vec!["6"], 1),
        (vec!["1", "3", "5"], 3),
        (vec!["1", "7"], 1),
    ] {
        let done = controller.kantctl(&[vec!["wait"], keys.clone()].concat()).await;
        assert_eq!((done.code, done.out.as_str()), (Some(code), ""), "{keys:?}: {}", done.err);
    }
}

#[tokio::test]
async fn wait_counts_the_tasks_of_a_large_array() {
    let controller = TestController::answering(|_, _| {
        let mut tasks: Vec<_> = (0..9).map(|task| completed(&format!("42_{task}"))).collect();
        tasks.push(job("42_9", Phase::Done, Some(Outcome::Failed)));
        json(jobs(tasks))
    });
    let done = controller.kantctl(&["wait", "42"]).await;
    assert_eq!(done.code, Some(3));
    assert_eq!(done.err, "kantctl: job 42 ended: 9 COMPLETED, 1 FAILED\n");
}

#[tokio::test]
async fn wait_continues_until_the_job_ends_and_through_an_outage_of_the_controller() {
    let controller = TestController::answering(|_, before| match before {
        0 => json(jobs(vec![job("42", Phase::Pending, None)])),
        1 => json(jobs(vec![job("42", Phase::Running, None)])),
        2 => refusal(503, "no leader"),
        _ => json(jobs(vec![completed("42")])),
    });
    let done = controller.kantctl(&["wait", "42"]).await;
    assert_eq!(done.good(), "");
    assert!(done.err.ends_with("kantctl: job 42 ended: COMPLETED\n"), "{}", done.err);
    assert_eq!(controller.request_lines().len(), 4);
}

#[tokio::test]
async fn without_a_leader_a_request_is_retried_and_reported_once() {
    let no_leader = || {
        let status = axum::http::StatusCode::SERVICE_UNAVAILABLE;
        net::Refusal::new(status, "no-leader", "no controller leads").into_response()
    };
    for (verb, said) in [("cancel", "Cancelled"), ("requeue", "Requeued")] {
        let controller = TestController::answering(move |_, before| match before {
            0..=2 => no_leader(),
            _ => json(value!({ "jobs": [] })),
        });
        let done = controller.kantctl(&[verb, "42"]).await;
        assert_eq!(
            (done.good(), controller.request_lines().len()),
            (format!("{said} 42\n").as_str(), 4)
        );
        let text = "kantctl: no controller leads\nkantctl: trying again for 15 s\n\
                    kantctl: the controller answers again\n";
        assert_eq!(done.err, text);
    }
    let controller = TestController::answering(move |_, _| no_leader());
    let done = controller.kantctl(&["queue", "--retry", "1s"]).await;
    done.refused(3, &["no controller leads"]);
}

#[tokio::test]
async fn output_is_read_in_chunks_to_its_end() {
    let controller = TestController::answering(|request, _| match request.line.as_str() {
        "GET /v1/jobs/42" => json(jobs(vec![completed("42")])),
        what if what.contains("offset=0&") => output(b"one\ntw", false),
        what if what.contains("offset=6&") => output(b"o\n\xff\x1b[0m", true),
        _ => output(b"", true),
    });
    let mut command = controller.command(&["logs", "42"]);
    let raw = command.output().await.unwrap();
    assert_eq!(raw.stdout, b"one\ntwo\n\xff\x1b[0m", "bytes pass unchanged");
    assert_eq!(
        controller.kantctl(&["logs", "42", "--tail", "2", "-e"]).await.good(),
        "two\n\u{fffd}\x1b[0m"
    );
    assert!(controller.request_lines().last().unwrap().contains("stream=stderr"));
    let done = controller.kantctl(&["logs", "--json", "42"]).await;
    assert_eq!(parsed(done.good())["text"], "one\ntwo\n\u{fffd}\u{1b}[0m");
}

#[tokio::test]
async fn following_waits_for_the_start_and_ends_with_the_job() {
    let controller =
        TestController::answering(|request, before| match (request.line.as_str(), before) {
            ("GET /v1/jobs/42", 0 | 1) => json(jobs(vec![job("42", Phase::Pending, None)])),
            ("GET /v1/jobs/42", _) => json(jobs(vec![job("42", Phase::Running, None)])),
            (what, 3) if what.contains("offset=0&wait_seconds=0") => output(b"begun\n", false),
            (what, 4) if what.contains("offset=6&wait_seconds=0") => output(b"", false),
            (what, 6) if what.contains("offset=6&wait_seconds=20") => output(b"ended\n", true),
            (what, 7) if what.contains("offset=12&wait_seconds=0") => output(b"", true),
            (what, _) => refusal(400, &format!("unexpected: {before} {what}")),
        });
    let done = controller.kantctl(&["logs", "-f", "42"]).await;
    assert_eq!(done.good(), "begun\nended\n", "{done:?}");
    assert_eq!(done.err, "kantctl: job 42 is waiting: held: release it with `kantctl release`\n");
}

#[tokio::test]
async fn following_ends_with_the_job_even_without_an_end_of_the_output() {
    let controller = TestController::answering(|request, before| match request.line.as_str() {
        "GET /v1/jobs/42" if before < 3 => json(jobs(vec![job("42", Phase::Running, None)])),
        "GET /v1/jobs/42" => json(jobs(vec![completed("42")])),
        what if what.contains("offset=0&") => output(b"x\n", false),
        _ => output(b"", false),
    });
    assert_eq!(controller.kantctl(&["logs", "-f", "42"]).await.good(), "x\n");
}

#[tokio::test]
async fn following_continues_after_a_requeue() {
    let controller =
        TestController::answering(|request, before| match (request.line.as_str(), before) {
            ("GET /v1/jobs/42", 3 | 4) => json(jobs(vec![job("42", Phase::Pending, None)])),
            ("GET /v1/jobs/42", 5) => json(jobs(vec![job("42", Phase::Starting, None)])),
            ("GET /v1/jobs/42", _) => json(jobs(vec![job("42", Phase::Running, None)])),
            (what, 1) if what.contains("offset=0&") => output(b"first\n", false),
            (_, 2) => refusal(409, "job 42 has no output yet"),
            (what, 7) if what.contains("offset=6&") => output(b"second\n", false),
            (_, 8) => output(b"", true),
            (what, _) => refusal(400, &format!("unexpected: {before} {what}")),
        });
    let done = controller.kantctl(&["logs", "-f", "42"]).await;
    assert_eq!(done.good(), "first\nsecond\n", "{done:?}");
    assert!(
        done.err.contains("no output yet") && done.err.contains("is waiting: held"),
        "{}",
        done.err
    );
}

fn silent_node() -> axum::response::Response {
    let status = axum::http::StatusCode::BAD_GATEWAY;
    net::Refusal::new(status, "node_silent", "node g1 is silent").into_response()
}

#[tokio::test]
async fn an_unresponsive_node_is_not_an_outage_of_the_controller() {
    let controller = TestController::answering(|request, _| match request.line.as_str() {
        "GET /v1/jobs/42" => json(jobs(vec![completed("42")])),
        _ => silent_node(),
    });
    controller.kantctl(&["logs", "-f", "42"]).await.refused(1, &["kantctl: node g1 is silent"]);
}

#[tokio::test]
async fn following_waits_for_a_node_that_has_not_reconnected_to_a_restarted_controller() {
    let controller =
        TestController::answering(|request, before| match (request.line.as_str(), before) {
            ("GET /v1/jobs/42", _) => json(jobs(vec![job("42", Phase::Running, None)])),
            (what, 1) if what.contains("offset=0&") => output(b"first\n", false),
            (_, 2 | 4) => silent_node(),
            (what, 6) if what.contains("offset=6&") => output(b"second\n", false),
            (_, 7) => output(b"", true),
            (what, _) => refusal(400, &format!("unexpected: {before} {what}")),
        });
    let done = controller.kantctl(&["logs", "-f", "42"]).await;
    assert_eq!(done.good(), "first\nsecond\n", "{done:?}");
    let said = "kantctl: node g1 is silent\nkantctl: waiting for the node for 600 s\n";
    assert_eq!(done.err, said, "once, not at every request");
}

#[tokio::test]
async fn following_gives_up_on_an_unresponsive_node_after_the_timeout_or_when_the_job_ends() {
    let controller = TestController::answering(|request, _| match request.line.as_str() {
        "GET /v1/jobs/42" => json(jobs(vec![job("42", Phase::Running, None)])),
        _ => silent_node(),
    });
    let silent = ["kantctl: node g1 is silent"];
    controller.kantctl(&["logs", "42"]).await.refused(1, &silent);
    controller.kantctl(&["logs", "-f", "--retry", "0s", "42"]).await.refused(1, &silent);
    controller.kantctl(&["logs", "-f", "--retry", "1s", "42"]).await.refused(1, &silent);
    let controller =
        TestController::answering(|request, before| match (request.line.as_str(), before) {
            ("GET /v1/jobs/42", 0..4) => json(jobs(vec![job("42", Phase::Running, None)])),
            ("GET /v1/jobs/42", _) => {
                json(jobs(vec![job("42", Phase::Done, Some(Outcome::NodeLost))]))
            }
            _ => silent_node(),
        });
    controller.kantctl(&["logs", "-f", "42"]).await.refused(1, &silent);
    assert_eq!(controller.request_lines().len(), 5);
}

#[tokio::test]
async fn a_jobs_message_is_escaped() {
    let controller = TestController::answering(|_, _| {
        let mut cancelled = job("7", Phase::Done, Some(Outcome::Cancelled));
        cancelled.message = Some("at the user's \u{1b}[2J wish".to_owned());
        json(jobs(vec![cancelled]))
    });
    let done = controller.kantctl(&["wait", "7"]).await;
    assert!(done.err.contains("at the user's \\u{1b}[2J wish\n"), "{}", done.err);
}

#[tokio::test]
async fn an_explanation_is_escaped() {
    let controller = TestController::answering(|_, _| {
        let lines = ["node \u{1b}[2J is down"];
        let pending = job("7", Phase::Pending, None);
        json(value!({ "job": pending, "lines": lines, "advice": "ask\u{7} root" }))
    });
    let done = controller.kantctl(&["explain", "7"]).await;
    let text = done.good();
    assert!(text.contains("  node \\u{1b}[2J is down\n"), "{text}");
    assert!(text.ends_with("What to do: ask\\u{7} root\n"), "{text}");
}

#[tokio::test]
async fn missing_output_is_explained() {
    let controller = TestController::answering(|request, _| {
        let mut cancelled = job("7", Phase::Done, Some(Outcome::Cancelled));
        cancelled.attempt = 0;
        json(jobs(match key_in(&request.line) {
            "5" => vec![job("5", Phase::Pending, None)],
            "6" => vec![completed("6_0"), completed("6_1")],
            _ => vec![cancelled],
        }))
    });
    let done = controller.kantctl(&["logs", "5"]).await;
    done.refused(1, &["job 5 has not started: held", "hint: `kantctl logs -f 5` waits for it"]);
    let done = controller.kantctl(&["logs", "6"]).await;
    done.refused(1, &["job 6 is an array of 2 tasks", "kantctl logs 6_1"]);
    controller
        .kantctl(&["logs", "-f", "7"])
        .await
        .refused(1, &["job 7 never started", "CANCELLED"]);
}

#[tokio::test]
async fn an_explanation_ends_with_what_to_do() {
    let controller = TestController::answering(|_, _| {
        let explanation = Explanation {
            job: job("42", Phase::Pending, None),
            lines: vec!["It is held until 2023-11-14T22:13:20Z.".to_owned()],
            advice: Some("kantctl release 42".to_owned()),
            expected_at: Some(NOW),
        };
        json(serde_json::to_value(explanation).unwrap())
    });
    let mut command = controller.command(&["explain", "42"]);
    let done = finish(command.env("TZ", "UTC").spawn().unwrap()).await;
    let expected = "Job 42 (job) is PENDING.\n  It is held until 2023-11-14 22:13:20.\n\
                    What to do: kantctl release 42\n";
    assert_eq!(done.good(), expected);
}

#[tokio::test]
async fn a_task_that_is_named_by_its_own_number_is_explained_as_a_task() {
    let controller = TestController::answering(|_, _| {
        let task = job("4_0", Phase::Running, None);
        json(value!({ "job": task, "lines": ["it is RUNNING on n1"], "advice": null }))
    });
    for (asked, head) in [
        ("5", "Job 5 (job, task 4_0) is RUNNING.\n"),
        ("4_0", "Job 4_0 (job) is RUNNING.\n"),
        ("4", "Job 4 (job) is an array.\n"),
    ] {
        let done = controller.kantctl(&["explain", asked]).await;
        assert!(done.good().starts_with(head), "{}", done.out);
    }
}

#[tokio::test]
async fn a_job_that_failed_to_start_shows_the_cause_once() {
    let controller = TestController::answering(|_, _| {
        let mut failed = job("7", Phase::Done, Some(Outcome::LaunchFailed));
        failed.message = Some("failed to open out.txt".to_owned());
        failed.exit = None;
        failed.started_at = None;
        json(jobs(vec![failed]))
    });
    let done = controller.kantctl(&["show", "job", "7"]).await;
    assert_eq!(done.good().matches("failed to open out.txt").count(), 1, "{}", done.out);
    assert!(done.out.contains("time        none, "), "{}", done.out);
}
