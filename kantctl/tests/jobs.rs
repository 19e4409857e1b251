//! Looking at jobs and steering them, against a controller that answers as it is told.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;

use axum::response::IntoResponse;
use common::job::{ExitStatus, Outcome, Phase};
use common::wire::api::{Explanation, StoryLine};
use house::{House, NOW, completed, finish, job, jobs, json, key_in, output, refusal, refused_as};
use serde_json::{Value, json as value};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn the_queue_lists_jobs_and_asks_for_what_was_asked() {
    let house = House::answering(|_, _| {
        json(jobs(vec![job("41", Phase::Running, None), job("42", Phase::Pending, None)]))
    });
    let expected = "\
ID  NAME  USER  QUEUE  STATE     TIME  LIMIT  NODES  GPUS  WHERE/WHY
41  job   ada   main   RUNNING  00:00      -      1     0
42  job   ada   main   PENDING      -      -      1     0  held: `kantctl release` lets it go
";
    assert_eq!(house.kantctl(&["queue"]).await.good(), expected);
    house.kantctl(&["q", "--me", "-p", "main", "-w", "g1", "--all"]).await.good();
    let uid = nix::unistd::getuid();
    let query = format!("GET /v1/jobs?all=true&user={uid}&queue=main&node=g1&lines=true");
    assert_eq!(house.questions(), ["GET /v1/jobs?lines=true".to_owned(), query]);
}

#[tokio::test]
async fn the_queue_filters_what_the_controller_does_not() {
    let house =
        House::answering(|_, _| json(jobs(vec![job("41", Phase::Running, None), completed("42")])));
    let done = house.kantctl(&["queue", "--json", "-t", "running"]).await;
    let answer = parsed(done.good());
    assert_eq!(answer["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(answer["jobs"][0]["key"], "41");
    assert!(house.kantctl(&["queue", "-u", "root,4001"]).await.good().lines().count() == 1);
}

#[tokio::test]
async fn a_list_that_breaks_off_is_asked_for_again_and_each_job_shown_once() {
    let house = House::answering(|asked, before| {
        let list =
            json(jobs(vec![job("41", Phase::Pending, None), job("42", Phase::Pending, None)]));
        match (asked.what.contains("lines=true"), before) {
            (true, 0) => house::cut_short(list),
            _ => list,
        }
    });
    let done = house.kantctl(&["queue"]).await;
    assert_eq!(done.good().lines().count(), 3, "{done:?}");
    assert_eq!(done.err.matches("trying again").count(), 1, "{}", done.err);
    assert_eq!(house.questions().len(), 2);
}

#[tokio::test]
async fn json_is_the_answer_to_the_letter() {
    let mut answer = jobs(vec![completed("42")]);
    answer["jobs"][0]["from_the_future"] = value!(1);
    answer["beside"] = value!({ "from": ["the", "future"] });
    let sent = answer.clone();
    let house = House::answering(move |_, _| json(sent.clone()));
    for words in [vec!["queue"], vec!["show", "job", "42"], vec!["wait", "42"]] {
        let done = house.kantctl(&[words, vec!["--json"]].concat()).await;
        assert_eq!(parsed(done.good()), answer);
    }
}

#[tokio::test]
async fn a_record_has_the_story() {
    let house = House::answering(|_, _| {
        let mut job = completed("42");
        job.story.push(StoryLine { at: NOW, text: "submitted by ada".to_owned() });
        json(jobs(vec![job]))
    });
    let done = house.kantctl(&["show", "job", "42"]).await;
    let text = done.good();
    assert!(text.starts_with("job         42\n") && text.contains("COMPLETED"), "{text}");
    assert!(text.ends_with("submitted by ada\n") && !text.contains('\u{1b}'), "{text}");
    assert_eq!(house.questions(), ["GET /v1/jobs/42"]);
}

#[tokio::test]
async fn an_unknown_job_is_refused_by_the_controller_and_nonsense_here() {
    let house = House::answering(|_, _| refusal(404, "there is no job 7"));
    for verb in [&["show", "job"][..], &["cancel"], &["wait"], &["logs"], &["explain"], &["hold"]] {
        let done = house.kantctl(&[verb, &["7"]].concat()).await;
        done.refused(1, &["kantctl: there is no job 7", "hint: try something else"]);
        let before = house.questions().len();
        let done = house.kantctl(&[verb, &["seven"]].concat()).await;
        done.refused(2, &["'seven'", "a job's number (42)"]);
        house.kantctl(&[verb, &["-7"]].concat()).await.refused(2, &["-7"]);
        house.kantctl(verb).await.refused(2, &["required"]);
        assert_eq!(house.questions().len(), before);
    }
}

#[tokio::test]
async fn every_job_is_steered_though_one_is_refused() {
    let house = House::answering(|asked, _| match key_in(&asked.what) {
        "8" => refusal(409, "cannot cancel job 8: it is over"),
        key => json(value!({ "jobs": [key] })),
    });
    let done = house.kantctl(&["cancel", "7", "8,9_[0-1]"]).await;
    assert_eq!(done.code, Some(1));
    assert_eq!(done.out, "Cancelled 7\nCancelled 9_0\nCancelled 9_1\n");
    assert!(done.err.contains("job 8: it is over"), "{}", done.err);
    for (verb, said) in
        [("hold", "Held 7\n"), ("release", "Released 7\n"), ("requeue", "Requeued 7\n")]
    {
        assert_eq!(house.kantctl(&[verb, "7"]).await.good(), said);
        assert_eq!(house.questions().last().unwrap(), &format!("POST /v1/jobs/7/{verb}"));
    }
    let done = house.kantctl(&["cancel", "--json", "7", "9"]).await;
    assert_eq!(parsed(done.good()), value!({ "jobs": ["7", "9"] }));
    let done = house.kantctl(&["cancel", "--json", "7", "8"]).await;
    assert_eq!(done.code, Some(1));
    let told = parsed(&done.out);
    assert_eq!(told["jobs"], value!(["7"]));
    assert_eq!(told["errors"][0]["of"], "8");
    assert_eq!(told["errors"][0]["message"], "cannot cancel job 8: it is over");
}

#[tokio::test]
async fn what_fails_is_json_where_answers_are() {
    let house = House::answering(|_, _| refusal(404, "there is no job 7"));
    for line in [
        &["--json", "explain", "7"][..],
        &["--json", "show", "7"],
        &["--json", "reload"],
        &["--json", "submit", "--wrap", "true"],
    ] {
        let done = house.kantctl(line).await;
        assert_eq!(done.code, Some(1), "{line:?}");
        let error = &parsed(&done.out)["error"];
        assert_eq!(error["message"], "there is no job 7", "{line:?}");
        assert_eq!(error["hint"], "try something else", "{line:?}");
        assert!(error["code"].is_string(), "{line:?}");
        assert!(done.err.contains("there is no job 7"), "{line:?}");
    }
}

#[tokio::test]
async fn what_was_not_held_is_told_and_is_no_failure() {
    let house = House::answering(|asked, _| match key_in(&asked.what) {
        "8" => refused_as("not_held", 409, "job 8 is not held"),
        key => json(value!({ "jobs": [key] })),
    });
    let done = house.kantctl(&["release", "7", "8"]).await;
    assert_eq!((done.code, done.out.as_str()), (Some(0), "Released 7\n"));
    assert!(done.err.contains("job 8 is not held"), "{}", done.err);
}

#[tokio::test]
async fn waiting_jobs_are_cancelled_before_those_whose_room_they_would_get() {
    let house = House::answering(|asked, _| match asked.what.as_str() {
        "GET /v1/jobs?user=ada&lines=true" => json(jobs(vec![
            job("41", Phase::Running, None),
            job("42", Phase::Pending, None),
            job("43", Phase::Starting, None),
            job("44", Phase::Pending, None),
        ])),
        _ => json(value!({})),
    });
    let done = house.kantctl(&["cancel", "-u", "ada"]).await;
    assert_eq!(done.good(), "Cancelled 42\nCancelled 44\nCancelled 41\nCancelled 43\n");
    let asked = house.questions();
    let place = |key| asked.iter().position(|what| key_in(what) == key).unwrap();
    assert!(place("42").max(place("44")) < place("41").min(place("43")), "{asked:?}");
    house.kantctl(&["cancel"]).await.refused(2, &["--me", "--user"]);
}

#[tokio::test]
async fn many_are_asked_for_at_once_and_told_in_their_order() {
    let house = House::answering(|asked, _| match key_in(&asked.what) {
        "7" => refused_as("already_done", 409, "job 7 is over"),
        key => json(value!({ "jobs": [key] })),
    });
    let keys: Vec<String> = (1..=50).map(|key| key.to_string()).collect();
    let words: Vec<&str> =
        std::iter::once("cancel").chain(keys.iter().map(String::as_str)).collect();
    let done = house.kantctl(&words).await;
    let told = keys.iter().filter(|key| *key != "7").map(|key| format!("Cancelled {key}\n"));
    assert_eq!((done.code, done.out), (Some(1), told.collect()));
    assert!(done.err.contains("job 7 is over"), "{}", done.err);
    assert_eq!(house.questions().len(), keys.len());
}

#[tokio::test]
async fn one_absence_of_the_controller_is_told_once_for_all_that_is_asked() {
    let house = House::answering(|asked, before| match before {
        0..20 => refused_as("no-leader", 503, "nobody leads"),
        _ => json(value!({ "jobs": [key_in(&asked.what)] })),
    });
    let keys: Vec<String> = (1..=30).map(|key| key.to_string()).collect();
    let mut words = vec!["cancel"];
    words.extend(keys.iter().map(String::as_str));
    let done = house.kantctl(&words).await;
    assert_eq!(done.good().lines().count(), keys.len());
    assert_eq!(done.err.matches("trying again").count(), 1, "{}", done.err);
    assert_eq!(done.err.matches("answers again").count(), 1, "{}", done.err);
}

#[tokio::test]
async fn what_was_granted_before_the_controller_went_away_is_told() {
    let house = House::answering(|asked, _| match key_in(&asked.what) {
        "1" => refused_as("no-leader", 503, "nobody leads"),
        key => json(value!({ "jobs": [key] })),
    });
    let keys: Vec<String> = (1..=40).map(|key| key.to_string()).collect();
    let mut words = vec!["--retry=0", "cancel"];
    words.extend(keys.iter().map(String::as_str));
    let done = house.kantctl(&words).await;
    assert_eq!(done.code, Some(3), "{done:?}");
    let told = done.err.matches("Cancelled ").count();
    assert_eq!(told, house.questions().len() - 1, "{}", done.err);
    assert!(told < 39, "the others are not asked for");
}

#[tokio::test]
async fn a_user_whom_nobody_knows_is_no_empty_list() {
    let house = House::answering(|asked, _| {
        let theirs = asked.what.contains("user=ada");
        json(jobs(if theirs { vec![job("41", Phase::Running, None)] } else { vec![] }))
    });
    for verb in ["queue", "cancel"] {
        let done = house.kantctl(&[verb, "-u", "no-such-user"]).await;
        done.refused(1, &["there is no user no-such-user"]);
    }
    house.kantctl(&["queue", "-u", "root"]).await.good();
    house.kantctl(&["queue", "-u", "123456"]).await.good();
    assert!(house.kantctl(&["queue", "-u", "ada"]).await.good().contains("41"), "by her jobs");
}

#[tokio::test]
async fn cancel_finds_jobs_by_what_they_are() {
    let house = House::answering(|asked, _| match asked.what.as_str() {
        "GET /v1/jobs?user=ada&lines=true" => {
            json(jobs(vec![job("41", Phase::Running, None), job("42", Phase::Pending, None)]))
        }
        "GET /v1/jobs?lines=true" => json(jobs(vec![])),
        _ => json(value!({})),
    });
    let done = house.kantctl(&["cancel", "-u", "ada", "-t", "PD"]).await;
    assert_eq!(done.good(), "Cancelled 42\n");
    let done = house.kantctl(&["cancel", "--name", "x"]).await;
    assert_eq!((done.good(), done.err.as_str()), ("", "kantctl: no matching jobs\n"));
}

#[tokio::test]
async fn a_state_that_no_job_can_be_in_is_refused() {
    let house = House::answering(|_, _| json(jobs(vec![completed("42")])));
    for verb in ["queue", "cancel"] {
        let done = house.kantctl(&[verb, "-t", "BOGUS"]).await;
        done.refused(2, &["'BOGUS'", "PENDING", "LAUNCH_FAILED"]);
        house.kantctl(&[verb, "-t", "PD,BOGUS"]).await.refused(2, &["'BOGUS'"]);
    }
    assert!(house.questions().is_empty());
    for state in ["COMPLETED", "completed", "CD", "pd,cd"] {
        let done = house.kantctl(&["queue", "-t", state]).await;
        assert_eq!(done.good().lines().count(), 2, "{state}");
    }
}

#[tokio::test]
async fn a_bare_number_is_shown_as_a_job() {
    let house = House::answering(|_, _| json(jobs(vec![completed("42")])));
    let whole = house.kantctl(&["show", "job", "42"]).await;
    assert_eq!(house.kantctl(&["show", "42"]).await.good(), whole.good());
    assert_eq!(house.questions(), ["GET /v1/jobs/42", "GET /v1/jobs/42"]);
    house.kantctl(&["show", "g1"]).await.refused(2, &["'g1'", "kantctl show node"]);
}

#[tokio::test]
async fn waiting_exits_with_the_jobs_code() {
    let house = House::answering(|asked, _| {
        let mut job = job(key_in(&asked.what), Phase::Done, Some(Outcome::Failed));
        match key_in(&asked.what) {
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
        let done = house.kantctl(&[vec!["wait"], keys.clone()].concat()).await;
        assert_eq!((done.code, done.out.as_str()), (Some(code), ""), "{keys:?}: {}", done.err);
    }
}

#[tokio::test]
async fn the_tasks_of_a_large_array_are_counted() {
    let house = House::answering(|_, _| {
        let mut tasks: Vec<_> = (0..9).map(|task| completed(&format!("42_{task}"))).collect();
        tasks.push(job("42_9", Phase::Done, Some(Outcome::Failed)));
        json(jobs(tasks))
    });
    let done = house.kantctl(&["wait", "42"]).await;
    assert_eq!(done.code, Some(3));
    assert_eq!(done.err, "kantctl: job 42 ended: 9 COMPLETED, 1 FAILED\n");
}

#[tokio::test]
async fn waiting_goes_on_until_the_end_and_through_a_controllers_absence() {
    let house = House::answering(|_, before| match before {
        0 => json(jobs(vec![job("42", Phase::Pending, None)])),
        1 => json(jobs(vec![job("42", Phase::Running, None)])),
        2 => refusal(503, "no leader"),
        _ => json(jobs(vec![completed("42")])),
    });
    let done = house.kantctl(&["wait", "42"]).await;
    assert_eq!(done.good(), "");
    assert!(done.err.ends_with("kantctl: job 42 ended: COMPLETED\n"), "{}", done.err);
    assert_eq!(house.questions().len(), 4);
}

#[tokio::test]
async fn while_nobody_leads_a_wish_is_kept_and_the_user_told_once() {
    let no_leader = || {
        let status = axum::http::StatusCode::SERVICE_UNAVAILABLE;
        net::Refusal::new(status, "no-leader", "no controller leads").into_response()
    };
    for (verb, said) in [("cancel", "Cancelled"), ("requeue", "Requeued")] {
        let house = House::answering(move |_, before| match before {
            0..=2 => no_leader(),
            _ => json(value!({ "jobs": [] })),
        });
        let done = house.kantctl(&[verb, "42"]).await;
        assert_eq!((done.good(), house.questions().len()), (format!("{said} 42\n").as_str(), 4));
        let told = "kantctl: no controller leads\nkantctl: trying again for 15 s\n\
                    kantctl: the controller answers again\n";
        assert_eq!(done.err, told);
    }
    let house = House::answering(move |_, _| no_leader());
    let done = house.kantctl(&["queue", "--retry", "1s"]).await;
    done.refused(3, &["no controller leads"]);
}

#[tokio::test]
async fn output_is_read_piece_by_piece_to_its_end() {
    let house = House::answering(|asked, _| match asked.what.as_str() {
        "GET /v1/jobs/42" => json(jobs(vec![completed("42")])),
        what if what.contains("offset=0&") => output(b"one\ntw", false),
        what if what.contains("offset=6&") => output(b"o\n\xff\x1b[0m", true),
        _ => output(b"", true),
    });
    let mut command = house.command(&["logs", "42"]);
    let raw = command.output().await.unwrap();
    assert_eq!(raw.stdout, b"one\ntwo\n\xff\x1b[0m", "bytes pass unchanged");
    assert_eq!(
        house.kantctl(&["logs", "42", "--tail", "2", "-e"]).await.good(),
        "two\n\u{fffd}\x1b[0m"
    );
    assert!(house.questions().last().unwrap().contains("stream=stderr"));
    let done = house.kantctl(&["logs", "--json", "42"]).await;
    assert_eq!(parsed(done.good())["text"], "one\ntwo\n\u{fffd}\u{1b}[0m");
}

#[tokio::test]
async fn following_waits_for_the_start_and_ends_with_the_job() {
    let house = House::answering(|asked, before| match (asked.what.as_str(), before) {
        ("GET /v1/jobs/42", 0 | 1) => json(jobs(vec![job("42", Phase::Pending, None)])),
        ("GET /v1/jobs/42", _) => json(jobs(vec![job("42", Phase::Running, None)])),
        (what, 3) if what.contains("offset=0&wait_seconds=0") => output(b"begun\n", false),
        (what, 4) if what.contains("offset=6&wait_seconds=0") => output(b"", false),
        (what, 6) if what.contains("offset=6&wait_seconds=20") => output(b"ended\n", true),
        (what, 7) if what.contains("offset=12&wait_seconds=0") => output(b"", true),
        (what, _) => refusal(400, &format!("unexpected: {before} {what}")),
    });
    let done = house.kantctl(&["logs", "-f", "42"]).await;
    assert_eq!(done.good(), "begun\nended\n", "{done:?}");
    assert_eq!(done.err, "kantctl: job 42 is waiting: held: `kantctl release` lets it go\n");
}

#[tokio::test]
async fn following_ends_with_the_job_though_nobody_tells_the_outputs_end() {
    let house = House::answering(|asked, before| match asked.what.as_str() {
        "GET /v1/jobs/42" if before < 3 => json(jobs(vec![job("42", Phase::Running, None)])),
        "GET /v1/jobs/42" => json(jobs(vec![completed("42")])),
        what if what.contains("offset=0&") => output(b"x\n", false),
        _ => output(b"", false),
    });
    assert_eq!(house.kantctl(&["logs", "-f", "42"]).await.good(), "x\n");
}

#[tokio::test]
async fn following_goes_on_after_a_requeue() {
    let house = House::answering(|asked, before| match (asked.what.as_str(), before) {
        ("GET /v1/jobs/42", 3 | 4) => json(jobs(vec![job("42", Phase::Pending, None)])),
        ("GET /v1/jobs/42", 5) => json(jobs(vec![job("42", Phase::Starting, None)])),
        ("GET /v1/jobs/42", _) => json(jobs(vec![job("42", Phase::Running, None)])),
        (what, 1) if what.contains("offset=0&") => output(b"first\n", false),
        (_, 2) => refusal(409, "job 42 has no output yet"),
        (what, 7) if what.contains("offset=6&") => output(b"second\n", false),
        (_, 8) => output(b"", true),
        (what, _) => refusal(400, &format!("unexpected: {before} {what}")),
    });
    let done = house.kantctl(&["logs", "-f", "42"]).await;
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
async fn a_silent_node_is_no_absent_controller() {
    let house = House::answering(|asked, _| match asked.what.as_str() {
        "GET /v1/jobs/42" => json(jobs(vec![completed("42")])),
        _ => silent_node(),
    });
    house.kantctl(&["logs", "-f", "42"]).await.refused(1, &["kantctl: node g1 is silent"]);
}

#[tokio::test]
async fn following_waits_for_a_node_that_the_restarted_controller_has_not_heard_yet() {
    let house = House::answering(|asked, before| match (asked.what.as_str(), before) {
        ("GET /v1/jobs/42", _) => json(jobs(vec![job("42", Phase::Running, None)])),
        (what, 1) if what.contains("offset=0&") => output(b"first\n", false),
        (_, 2 | 4) => silent_node(),
        (what, 6) if what.contains("offset=6&") => output(b"second\n", false),
        (_, 7) => output(b"", true),
        (what, _) => refusal(400, &format!("unexpected: {before} {what}")),
    });
    let done = house.kantctl(&["logs", "-f", "42"]).await;
    assert_eq!(done.good(), "first\nsecond\n", "{done:?}");
    let said = "kantctl: node g1 is silent\nkantctl: waiting for the node for 600 s\n";
    assert_eq!(done.err, said, "once, not at every look");
}

#[tokio::test]
async fn following_gives_a_silent_node_up_in_time_or_with_its_job() {
    let house = House::answering(|asked, _| match asked.what.as_str() {
        "GET /v1/jobs/42" => json(jobs(vec![job("42", Phase::Running, None)])),
        _ => silent_node(),
    });
    let silent = ["kantctl: node g1 is silent"];
    house.kantctl(&["logs", "42"]).await.refused(1, &silent);
    house.kantctl(&["logs", "-f", "--retry", "0s", "42"]).await.refused(1, &silent);
    house.kantctl(&["logs", "-f", "--retry", "1s", "42"]).await.refused(1, &silent);
    let house = House::answering(|asked, before| match (asked.what.as_str(), before) {
        ("GET /v1/jobs/42", 0..4) => json(jobs(vec![job("42", Phase::Running, None)])),
        ("GET /v1/jobs/42", _) => json(jobs(vec![job("42", Phase::Done, Some(Outcome::NodeLost))])),
        _ => silent_node(),
    });
    house.kantctl(&["logs", "-f", "42"]).await.refused(1, &silent);
    assert_eq!(house.questions().len(), 5);
}

#[tokio::test]
async fn a_farewell_is_plain_text() {
    let house = House::answering(|_, _| {
        let mut cancelled = job("7", Phase::Done, Some(Outcome::Cancelled));
        cancelled.message = Some("at the user's \u{1b}[2J wish".to_owned());
        json(jobs(vec![cancelled]))
    });
    let done = house.kantctl(&["wait", "7"]).await;
    assert!(done.err.contains("at the user's \\u{1b}[2J wish\n"), "{}", done.err);
}

#[tokio::test]
async fn an_explanation_cannot_steer_the_terminal() {
    let house = House::answering(|_, _| {
        let lines = ["node \u{1b}[2J is down"];
        let pending = job("7", Phase::Pending, None);
        json(value!({ "job": pending, "lines": lines, "advice": "ask\u{7} root" }))
    });
    let done = house.kantctl(&["explain", "7"]).await;
    let told = done.good();
    assert!(told.contains("  node \\u{1b}[2J is down\n"), "{told}");
    assert!(told.ends_with("What to do: ask\\u{7} root\n"), "{told}");
}

#[tokio::test]
async fn output_that_cannot_be_there_is_explained() {
    let house = House::answering(|asked, _| {
        let mut cancelled = job("7", Phase::Done, Some(Outcome::Cancelled));
        cancelled.attempt = 0;
        json(jobs(match key_in(&asked.what) {
            "5" => vec![job("5", Phase::Pending, None)],
            "6" => vec![completed("6_0"), completed("6_1")],
            _ => vec![cancelled],
        }))
    });
    let done = house.kantctl(&["logs", "5"]).await;
    done.refused(1, &["job 5 has not started: held", "hint: `kantctl logs -f 5` waits for it"]);
    let done = house.kantctl(&["logs", "6"]).await;
    done.refused(1, &["job 6 is an array of 2 tasks", "kantctl logs 6_1"]);
    house.kantctl(&["logs", "-f", "7"]).await.refused(1, &["job 7 never started", "CANCELLED"]);
}

#[tokio::test]
async fn an_explanation_ends_with_what_to_do() {
    let house = House::answering(|_, _| {
        let explanation = Explanation {
            job: job("42", Phase::Pending, None),
            lines: vec!["It is held until 2023-11-14T22:13:20Z.".to_owned()],
            advice: Some("kantctl release 42".to_owned()),
            expected_at: Some(NOW),
        };
        json(serde_json::to_value(explanation).unwrap())
    });
    let mut command = house.command(&["explain", "42"]);
    let done = finish(command.env("TZ", "UTC").spawn().unwrap()).await;
    let expected = "Job 42 (job) is PENDING.\n  It is held until 2023-11-14 22:13:20.\n\
                    What to do: kantctl release 42\n";
    assert_eq!(done.good(), expected);
}
