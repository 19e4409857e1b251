//! Escaping of invisible characters: every text field of every answer has some, and the output of
//! kantctl, under its own name and under Slurm's, has none. `support/sample_answers.rs` answers.

use crate::support::sample_answers;
use crate::support::{ReceivedRequest, TestController, finish};
use axum::body::{Body, to_bytes};
use axum::response::Response;
use common::text::is_shown;
use common::wire::api;
use futures_util::FutureExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;

/// A right-to-left override, terminal control sequences, a tag, a line separator and a space of no
/// width.
const UNSEEN: &str = "\u{202e}\u{1b}[2J\u{9b}31m\u{e0041}\u{2028}\u{200b}";

fn reads_as<T: DeserializeOwned>(value: &Value) -> bool {
    T::deserialize(value).is_ok()
}

/// Whether kantctl accepts this as an answer to the request.
fn is_answer(what: &str, value: &Value) -> bool {
    let path = what.split(['?', ' ']).nth(1).unwrap_or_default();
    match path.trim_start_matches("/v1/").split('/').collect::<Vec<_>>()[..] {
        ["status"] => reads_as::<api::Status>(value),
        ["metrics"] => reads_as::<api::MetricsView>(value),
        ["history"] => reads_as::<api::HistoryList>(value),
        ["report"] => reads_as::<api::ReportView>(value),
        ["report", "estimates"] => reads_as::<api::EstimatesView>(value),
        ["share"] => reads_as::<api::ShareList>(value),
        ["idle-gpus"] => reads_as::<api::IdleGpuList>(value),
        ["priority"] => reads_as::<api::PriorityList>(value),
        ["accounts"] => reads_as::<api::AccountList>(value),
        ["nodes"] | ["nodes", _] => reads_as::<api::NodeList>(value),
        ["queues"] => reads_as::<api::QueueList>(value),
        ["reservations"] | ["reservations", _, "update"] => reads_as::<api::ReservationList>(value),
        ["controllers", ..] => reads_as::<api::ControllerList>(value),
        ["tokens"] if what.starts_with("POST") => reads_as::<api::TokenAnswer>(value),
        ["audit"] => reads_as::<api::AuditList>(value),
        ["invitations", ..] => reads_as::<api::InvitationList>(value),
        ["upgrade"] => reads_as::<api::UpgradeView>(value),
        ["cluster-key", ..] => reads_as::<api::ClusterKeyView>(value),
        ["enrolments", "invite"] => reads_as::<api::InviteAnswer>(value),
        ["enrolments", ..] => reads_as::<api::EnrolmentList>(value),
        ["tokens", ..] => reads_as::<api::TokenList>(value),
        ["reload"] => reads_as::<api::ReloadAnswer>(value),
        ["jobs", "trial"] => reads_as::<api::TrialView>(value),
        ["jobs", _, "explain"] => reads_as::<api::Explanation>(value),
        ["jobs", _, "steps"] => reads_as::<api::StepList>(value),
        ["jobs", _, "what-if"] => reads_as::<api::WhatIfView>(value),
        ["jobs"] if what.starts_with("POST") => reads_as::<api::SubmitAnswer>(value),
        ["jobs"] | ["jobs", _] => reads_as::<api::JobList>(value),
        _ => true,
    }
}

/// Appends invisible characters to every string below `path` that may contain any text.
fn spoil(whole: &mut Value, path: &str, is_good: &impl Fn(&Value) -> bool) {
    let below: Vec<String> = match whole.pointer(path) {
        Some(Value::Object(fields)) => fields.keys().cloned().collect(),
        Some(Value::Array(list)) => (0..list.len()).map(|place| place.to_string()).collect(),
        Some(Value::String(text)) => {
            let (before, spoiled) = (text.clone(), format!("{text}{UNSEEN}"));
            *whole.pointer_mut(path).unwrap() = Value::from(spoiled);
            if !is_good(whole) {
                *whole.pointer_mut(path).unwrap() = Value::from(before);
            }
            return;
        }
        _ => return,
    };
    for name in below {
        spoil(whole, &format!("{path}/{}", name.replace('/', "~1")), is_good);
    }
}

fn spoiled(request: &ReceivedRequest) -> Response {
    let (mut head, body) = sample_answers::answer(request).into_parts();
    let is_refusal = !head.status.is_success();
    head.headers.remove("content-length");
    let bytes = to_bytes(body, usize::MAX).now_or_never().unwrap().unwrap();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let lines = lines.map(|line| match serde_json::from_slice::<Value>(line) {
        Ok(mut value) => {
            let is_good = |value: &Value| is_refusal || is_answer(&request.line, value);
            spoil(&mut value, "", &is_good);
            let end = if line.ends_with(b"\n") { "\n" } else { "" };
            format!("{value}{end}").into_bytes()
        }
        Err(_) => line.to_vec(),
    });
    Response::from_parts(head, Body::from(lines.collect::<Vec<_>>().concat()))
}

async fn said(controller: &TestController, bin: &Path, command: &str) -> String {
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", command]).env_clear().current_dir(controller.dir.path());
    for (name, value) in controller.command(&[]).as_std().get_envs() {
        shell.env(name, value.unwrap());
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    shell.env("PATH", path).env("TZ", "UTC").stdin(Stdio::null());
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    let done = finish(shell.spawn().unwrap()).await;
    done.out + &done.err
}

#[tokio::test]
async fn invisible_characters_in_answers_do_not_reach_the_terminal() {
    let controller = TestController::answering(|request, _| spoiled(request));
    controller.file("train.sh", "#!/bin/sh\n#SBATCH --gpus=2 --time=1:00:00\ntrue\n");
    controller.file("typo.sh", "#!/bin/sh\n#SBATCH --gpu=2\ntrue\n");
    let bin = controller.dir.path().join("bin");
    controller.kantctl(&["install-slurm-names", bin.to_str().unwrap()]).await.good();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kantctl"), bin.join("kantctl")).unwrap();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut escaped = 0;
    for entry in std::fs::read_dir(kept).unwrap() {
        let session = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let commands = session.lines().filter_map(|line| line.strip_prefix("$ "));
        // CSV for a program is data.
        for command in commands.filter(|command| !command.contains("csv")) {
            let said = said(&controller, &bin, command).await;
            let unseen = said.chars().find(|c| !is_shown(*c) && !matches!(c, '\n' | '\t'));
            assert_eq!(unseen, None, "$ {command}\n{said}");
            escaped += u32::from(said.contains("\\u{202e}") || said.contains("\\u202e"));
        }
    }
    assert!(escaped > 100, "only {escaped} commands show any of these texts");
}
