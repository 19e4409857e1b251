//! A terminal session: `top` as a user sees it, and lists that keep within 80 columns. Never the
//! letters of a frame one by one: those are unit tests'.

#![allow(clippy::unwrap_used)] // a test fails by panicking

#[path = "house/pty.rs"]
mod pty_of_house;

mod house;

use common::job::Phase;
use common::wire::api::JobView;
use house::{House, NOW, PATIENCE, job, jobs, json, refused_as};
use pty_of_house::Pty;
use serde_json::json as value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const TAKEN: &str = "\x1b[?1049h\x1b[?25l";
const GIVEN_BACK: &str = "\x1b[?25h\x1b[?1049l";

fn waiting(number: u32) -> JobView {
    let mut job = job(&number.to_string(), Phase::Pending, None);
    job.ask.name = format!("a-job-with-quite-a-long-name-{number}");
    job.owner.name = "a-user-with-a-long-name".to_owned();
    job
}

/// A cluster with so many jobs; the nodes are counted up at each look.
fn cluster(waiting_jobs: u32) -> House {
    let looks = Arc::new(AtomicU32::new(0));
    House::answering(move |asked, _| match asked.what.split(['?', ' ']).nth(1) {
        Some("/v1/status") => json(value!({
            "cluster": "lab", "version": "0", "leader": true, "applied": 1,
            "jobs_pending": waiting_jobs, "jobs_running": 0, "jobs_done": 0,
            "nodes_connected": looks.fetch_add(1, Ordering::SeqCst), "nodes": 9
        })),
        Some("/v1/metrics") => json(value!({ "gpus": 8, "gpus_used_milli": 2000, "gar": 0.25 })),
        Some("/v1/jobs") => json(jobs((1..=waiting_jobs).map(waiting).collect())),
        _ => refused_as("unknown", 404, "no such path"),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn top_draws_again_scrolls_fits_another_size_and_gives_the_terminal_back() {
    let house = cluster(50);
    let mut pty = Pty::start(&house, &["top", "--interval", "1"], 80, 12);
    pty.until(TAKEN);
    pty.until("0 of 9 nodes");
    pty.until("1-6 of 50 (all)");
    // It looks again by itself.
    pty.until("1 of 9 nodes");
    pty.types("\x1b[B");
    pty.until("2-7 of 50 (all)");
    pty.types("r");
    pty.until("0-0 of 0 (running)");
    pty.types("w");
    pty.until("1-6 of 50 (waiting)");
    pty.resize(60, 20);
    pty.until("1-14 of 50 (waiting)");
    pty.types("q");
    pty.until(GIVEN_BACK);
    let (status, seen) = pty.ended();
    assert!(status.success(), "{status} {seen}");
    let frames = seen.split("\x1b[H").skip(1);
    for line in frames.flat_map(|frame| frame.split("\r\n")) {
        let line = line.split('\x1b').next().unwrap();
        assert!(line.chars().count() <= 80, "{line:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_top_and_gives_the_terminal_back() {
    use nix::sys::signal::{Signal, kill};
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
        let house = cluster(1);
        let mut pty = Pty::start(&house, &["top"], 80, 12);
        pty.until("1-1 of 1");
        kill(pty.pid(), signal).unwrap();
        pty.until(GIVEN_BACK);
        assert!(pty.ended().0.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_is_a_key_in_top() {
    let house = cluster(1);
    let mut pty = Pty::start(&house, &["top"], 80, 12);
    pty.until("1-1 of 1");
    pty.types("\x03");
    pty.until(GIVEN_BACK);
    assert!(pty.ended().0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_top_says_what_to_use() {
    let house = cluster(1);
    house.kantctl(&["top"]).await.refused(2, &["needs a terminal", "kantctl queue"]);
    let json = house.kantctl(&["top", "--json"]).await;
    assert!(json.code == Some(2) && json.err.contains("kantctl watch"), "{json:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_keeps_within_the_terminals_columns() {
    let house = cluster(3);
    for columns in [80_u16, 100] {
        let pty = Pty::start(&house, &["queue"], columns, 24);
        let (status, seen) = pty.ended();
        assert!(status.success());
        let lines: Vec<&str> = seen.split("\r\n").collect();
        assert!(lines.len() > 3, "{seen}");
        assert!(lines.iter().all(|line| line.chars().count() <= columns.into()), "{seen}");
        assert!(seen.contains('…'), "what is too long is cut: {seen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watching_tells_each_event_as_it_comes_and_ends_when_told() {
    let line = |event: &str, text: &str| {
        value!({ "at": NOW, "event": event, "job": "7", "text": text, "detail": null }).to_string()
            + "\n"
    };
    let lines = [line("Watching", "from here on"), line("JobDone", "job 7: \u{1b}[2J done")];
    let house = House::answering(move |_, _| lines.concat());
    let done = house.kantctl(&["watch", "7", "--count", "1"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.ends_with("  job 7: \\u{1b}[2J done\n"), "{done:?}");
    assert_eq!(house.questions(), ["GET /v1/watch?jobs=7&users="]);
    let raw = house.kantctl(&["watch", "--count", "1", "--json"]).await;
    assert_eq!(raw.out.lines().count(), 2);
    let last: serde_json::Value = serde_json::from_str(raw.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "JobDone");
}
