//! Shell completions of jobs, nodes and queues from a controller.

use crate::support::pty::Pty;
use crate::support::{TestController, job, jobs, json};
use common::job::Phase;
use serde_json::json as value;
use std::path::Path;
use std::process::Command;

/// A controller with some jobs, a node and two queues.
fn cluster() -> TestController {
    TestController::answering(|request, _| match request.line.split('?').next() {
        Some("GET /v1/jobs") => {
            assert!(request.line.contains("user="), "only the user's own: {}", request.line);
            let of = |key| job(key, Phase::Running, None);
            json(jobs(vec![of("7"), of("41"), of("43_0"), of("43_1")]))
        }
        Some("GET /v1/nodes") => json(value!({ "nodes": [{ "name": "g-001", "status": "idle" }] })),
        _ => json(value!({ "queues": [{ "name": "main" }, { "name": "magic" }] })),
    })
}

/// `PATH` with kantctl.
fn path() -> String {
    let kantctl = Path::new(env!("CARGO_BIN_EXE_kantctl")).parent().unwrap();
    format!("{}:{}", kantctl.display(), std::env::var("PATH").unwrap_or_default())
}

/// A shell with this controller; `None`: the shell is not installed and the test is skipped.
fn shell(name: &str, controller: &TestController) -> Option<Command> {
    let there = Command::new(name).args(["-c", "true"]).status();
    if !there.is_ok_and(|status| status.success()) {
        println!("skipped: {name} is not installed");
        return None;
    }
    let mut shell = Command::new(name);
    shell.env_clear().env("PATH", path()).env("HOME", controller.dir.path()).env("TERM", "dumb");
    shell.env("KANT_SOCKET", controller.socket()).current_dir(controller.dir.path());
    Some(shell)
}

/// The completions that bash offers for the last of these words.
async fn offered(controller: &TestController, words: &str) -> String {
    let kantctl = std::path::Path::new(env!("CARGO_BIN_EXE_kantctl")).parent().unwrap();
    let script = format!(
        "PATH={}:$PATH; . <(kantctl completions bash); COMP_WORDS=({words}); \
         COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
         _kantctl_live kantctl \"${{COMP_WORDS[COMP_CWORD]}}\" \
         \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; echo \"${{COMPREPLY[@]}}\"",
        kantctl.display()
    );
    let mut bash = tokio::process::Command::new("bash");
    bash.args(["-c", &script]).env("KANT_SOCKET", controller.socket());
    let done = bash.stdin(std::process::Stdio::null()).output().await.unwrap();
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim_end().to_owned()
}

#[tokio::test]
async fn bash_offers_existing_jobs_nodes_and_queues() {
    let controller = cluster();
    for (words, expected) in [
        ("kantctl cancel ''", "43 41 7"),
        ("kantctl logs -f 4", "43 41"),
        ("kantctl cancel 41 9", ""),
        ("kantctl show node g", "g-001"),
        ("kantctl drain ''", "g-001"),
        ("kantctl show queue ''", "main magic"),
        ("kantctl submit --queue ''", "main magic"),
        ("kantctl submit -p mai", "main"),
        ("kantctl submit --queue = mag", "magic"),
        ("kantctl submit --queue =", "main magic"),
        ("kantctl run --in 4", "43 41"),
    ] {
        assert_eq!(offered(&controller, words).await, expected, "{words}");
    }
    assert!(
        offered(&controller, "kantctl show ''").await.contains("43 41 7 "),
        "jobs as well as subcommands"
    );
    assert!(offered(&controller, "kantctl cancel --").await.contains("--signal"));
    assert!(offered(&controller, "kantctl can").await.contains("cancel"));
    let absent = TestController::empty();
    assert_eq!(offered(&absent, "kantctl cancel ''").await, "", "no controller answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn fish_offers_existing_jobs_nodes_and_queues() {
    let controller = cluster();
    let Some(mut fish) = shell("fish", &controller) else { return };
    let lines = [
        ("kantctl cancel ", &["7\t", "41\t", "43\t"][..], &["job\t", "g-001"][..]),
        ("kantctl show ", &["41\t", "node\t"], &["g-001"]),
        ("kantctl show queue ", &["main"], &["41\t", "node\t", "g-001"]),
        ("kantctl show node ", &["g-001\tidle"], &["41\t", "queue\t"]),
        ("kantctl submit --queue ", &["main", "magic"], &["a-file"]),
        ("kantctl submit -p mai", &["main"], &["magic"]),
        ("kantctl run --in 4", &["41\t", "43\t"], &["a-file"]),
        ("kantctl cancel 41 --sig", &["--signal\t"], &[]),
    ];
    controller.file("a-file", "");
    let asked = lines.map(|(line, ..)| format!("echo '== {line}'; complete -C '{line}'"));
    let script = format!("source (kantctl completions fish | psub)\n{}\n", asked.join("\n"));
    let done = fish.args(["--no-config", "-c", &script]).output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    for (line, offered, others) in lines {
        let from = said.split(&format!("== {line}\n")).nth(1).unwrap_or_default();
        let text = from.split("== ").next().unwrap_or_default();
        let has = |word: &&str| text.lines().any(|line| line.starts_with(*word));
        assert!(offered.iter().all(has), "{line}: {text}");
        assert!(!others.iter().any(has), "{line}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn zsh_offers_existing_jobs_nodes_and_queues() {
    let controller = cluster();
    let Some(mut zsh) = shell("zsh", &controller) else { return };
    controller.file("a-file", "");
    std::fs::create_dir(controller.dir.path().join("functions")).unwrap();
    zsh.args(["-f", "-i"]);
    // Only lines with several completions: a single one is inserted without a list.
    let lines = [
        ("kantctl cancel ", &["7 ", "41 ", "43 "][..], &["job ", "g-001", "a-file"][..]),
        ("kantctl cancel 41 --s", &["--signal", "--state"], &["a-file"]),
        ("kantctl show ", &["7 ", "41 ", "node ", "queue "], &["g-001", "a-file"]),
        ("kantctl show queue ", &["main", "magic"], &["41 ", "node ", "a-file"]),
        ("kantctl submit --queue ", &["main", "magic"], &["a-file"]),
        ("kantctl submit -p ", &["main", "magic"], &["a-file"]),
        ("kantctl run --in ", &["41 ", "43 "], &["a-file"]),
    ];
    tokio::task::spawn_blocking(move || {
        let mut terminal = Pty::begin(zsh, 120, 80);
        terminal.types(
            "PS1='ready''> '; kantctl completions zsh >functions/_kantctl; \
             fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D; \
             setopt no_beep no_list_beep no_list_ambiguous no_auto_menu; LISTMAX=999\n",
        );
        terminal.until("ready> ");
        for (line, offered, others) in lines {
            let before = terminal.seen.len();
            terminal.types(&format!("{line}\t"));
            // The list is followed by the line again.
            terminal.until(offered[0]);
            terminal.until("ready> kantctl");
            let text = terminal.seen[before..].to_owned();
            let has = |word: &&str| {
                text.lines()
                    .any(|line| line.starts_with(*word) || line.contains(&format!("  {word}")))
            };
            assert!(offered.iter().all(has), "{line}: {text}");
            assert!(!others.iter().any(has), "{line}: {text}");
            terminal.types("\x15\n");
            terminal.until("ready> ");
        }
    })
    .await
    .unwrap();
    drop(controller);
}
