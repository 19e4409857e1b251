//! kantctl on a terminal: `top`, `watch`, and lists that fit the terminal.

use crate::support::pty::Pty;
use crate::support::{NOW, TestController, job, jobs, json, refused_as};
use common::job::Phase;
use common::wire::api::JobView;
use serde_json::json as value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const ALTERNATE_SCREEN: &str = "\x1b[?1049h\x1b[?25l";
const MAIN_SCREEN: &str = "\x1b[?25h\x1b[?1049l";

fn waiting(number: u32) -> JobView {
    let mut job = job(&number.to_string(), Phase::Pending, None);
    job.ask.name = format!("a-job-with-quite-a-long-name-{number}");
    job.owner.name = "a-user-with-a-long-name".to_owned();
    job
}

/// A cluster with N waiting jobs, and with one more connected node at each status request.
fn cluster(waiting_jobs: u32) -> TestController {
    let looks = Arc::new(AtomicU32::new(0));
    TestController::answering(move |request, _| match request.line.split(['?', ' ']).nth(1) {
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
async fn top_refreshes_scrolls_follows_a_resize_and_restores_the_terminal() {
    let controller = cluster(50);
    let mut pty = Pty::start(&controller, &["top", "--interval", "1"], 80, 12);
    pty.until(ALTERNATE_SCREEN);
    pty.until("0 of 9 nodes");
    pty.until("1-6 of 50 (all)");
    // top refreshes without a key.
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
    pty.until(MAIN_SCREEN);
    let (status, seen) = pty.ended();
    assert!(status.success(), "{status} {seen}");
    let frames = seen.split("\x1b[H").skip(1);
    for line in frames.flat_map(|frame| frame.split("\r\n")) {
        let line = line.split('\x1b').next().unwrap();
        assert!(line.chars().count() <= 80, "{line:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_top_and_restores_the_terminal() {
    use nix::sys::signal::{Signal, kill};
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
        let controller = cluster(1);
        let mut pty = Pty::start(&controller, &["top"], 80, 12);
        pty.until("1-1 of 1");
        kill(pty.pid(), signal).unwrap();
        pty.until(MAIN_SCREEN);
        assert!(pty.ended().0.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_is_a_key_in_top() {
    let controller = cluster(1);
    let mut pty = Pty::start(&controller, &["top"], 80, 12);
    pty.until("1-1 of 1");
    pty.types("\x03");
    pty.until(MAIN_SCREEN);
    assert!(pty.ended().0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_top_names_the_alternatives() {
    let controller = cluster(1);
    controller.kantctl(&["top"]).await.refused(2, &["needs a terminal", "kantctl queue"]);
    let json = controller.kantctl(&["top", "--json"]).await;
    assert!(json.code == Some(2) && json.err.contains("kantctl watch"), "{json:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_fits_the_terminal() {
    let controller = cluster(3);
    for columns in [80_u16, 100] {
        let pty = Pty::start(&controller, &["queue"], columns, 24);
        let (status, seen) = pty.ended();
        assert!(status.success());
        let lines: Vec<&str> = seen.split("\r\n").collect();
        assert!(lines.len() > 3, "{seen}");
        assert!(lines.iter().all(|line| line.chars().count() <= columns.into()), "{seen}");
        assert!(seen.contains('…'), "what is too long is cut: {seen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_prints_each_event_and_ends_after_the_requested_number() {
    let line = |event: &str, text: &str| {
        value!({ "at": NOW, "event": event, "job": "7", "text": text, "detail": null }).to_string()
            + "\n"
    };
    let lines = [line("Watching", "from here on"), line("JobDone", "job 7: \u{1b}[2J done")];
    let controller = TestController::answering(move |_, _| lines.concat());
    let done = controller.kantctl(&["watch", "7", "--count", "1"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.ends_with("  job 7: \\u{1b}[2J done\n"), "{done:?}");
    assert_eq!(controller.request_lines(), ["GET /v1/watch?jobs=7&users=&heartbeat_seconds=2"]);
    let raw = controller.kantctl(&["watch", "--count", "1", "--json"]).await;
    assert_eq!(raw.out.lines().count(), 2);
    let last: serde_json::Value = serde_json::from_str(raw.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "JobDone");
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_continues_after_the_last_event_and_reports_a_gap() {
    let line = |sequence: &str, event: &str, text: &str| {
        let line = value!({
            "sequence": sequence, "at": NOW, "event": event, "text": text, "detail": null
        });
        line.to_string() + "\n"
    };
    let controller = TestController::answering(move |request, _| {
        match request.line.split("since=").nth(1).unwrap_or_default() {
            // The connection ends after a heartbeat.
            "9-1" => [
                line("9-1", "Watching", ""),
                line("9-2", "JobHeld", "a"),
                line("12-4", "Heartbeat", ""),
            ],
            "12-4" => [
                line("12-4", "Watching", ""),
                line("13-1", "JobHeld", "b"),
                line("13-2", "Heartbeat", ""),
            ],
            _ => [
                line("30-1", "Watching", ""),
                line("30-1", "Gap", "earlier events are no longer kept"),
                line("30-2", "JobHeld", "c"),
            ],
        }
        .concat()
    });
    let done = controller.kantctl(&["watch", "--since", "9-1", "--count", "3"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let texts: Vec<&str> = done.out.lines().filter_map(|line| line.split("  ").nth(1)).collect();
    assert_eq!(texts, ["a", "b", "c"]);
    assert_eq!(done.err.matches("no event was missed").count(), 1, "{done:?}");
    assert!(done.err.contains("no longer kept"), "{done:?}");
    let asked = controller.request_lines();
    let points: Vec<&str> = asked.iter().filter_map(|line| line.split("since=").nth(1)).collect();
    assert_eq!(points, ["9-1", "12-4", "13-2"]);
}
