//! What a shell offers where a job, a node or a queue is meant: those that there are. Never
//! waits for a controller that does not answer.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;
#[path = "house/pty.rs"]
mod pty;

use common::job::Phase;
use house::{House, PATIENCE, job, jobs, json};
use pty::Pty;
use serde_json::json as value;
use std::path::Path;
use std::process::Command;

/// A controller with some jobs, a node and two queues.
fn cluster() -> House {
    House::answering(|asked, _| match asked.what.split('?').next() {
        Some("GET /v1/jobs") => {
            assert!(asked.what.contains("user="), "only the own: {}", asked.what);
            let of = |key| job(key, Phase::Running, None);
            json(jobs(vec![of("7"), of("41"), of("43_0"), of("43_1")]))
        }
        Some("GET /v1/nodes") => json(value!({ "nodes": [{ "name": "g-001", "status": "idle" }] })),
        _ => json(value!({ "queues": [{ "name": "main" }, { "name": "magic" }] })),
    })
}

/// Where `kantctl` is found.
fn path() -> String {
    let kantctl = Path::new(env!("CARGO_BIN_EXE_kantctl")).parent().unwrap();
    format!("{}:{}", kantctl.display(), std::env::var("PATH").unwrap_or_default())
}

/// This shell in that house; `None`: it is not installed, and nothing is tested.
fn shell(name: &str, house: &House) -> Option<Command> {
    let there = Command::new(name).args(["-c", "true"]).status();
    if !there.is_ok_and(|status| status.success()) {
        println!("skipped: there is no {name} here");
        return None;
    }
    let mut shell = Command::new(name);
    shell.env_clear().env("PATH", path()).env("HOME", house.dir.path()).env("TERM", "dumb");
    shell.env("KANT_SOCKET", house.socket()).current_dir(house.dir.path());
    Some(shell)
}

/// What bash would offer after these words, the last of them half typed.
async fn offered(house: &House, words: &str) -> String {
    let kantctl = std::path::Path::new(env!("CARGO_BIN_EXE_kantctl")).parent().unwrap();
    let script = format!(
        "PATH={}:$PATH; . <(kantctl completions bash); COMP_WORDS=({words}); \
         COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
         _kantctl_live kantctl \"${{COMP_WORDS[COMP_CWORD]}}\" \
         \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; echo \"${{COMPREPLY[@]}}\"",
        kantctl.display()
    );
    let mut bash = tokio::process::Command::new("bash");
    bash.args(["-c", &script]).env("KANT_SOCKET", house.socket());
    let done = bash.stdin(std::process::Stdio::null()).output().await.unwrap();
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim_end().to_owned()
}

#[tokio::test]
async fn completions_offer_jobs_nodes_and_queues_that_there_are() {
    let house = cluster();
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
        assert_eq!(offered(&house, words).await, expected, "{words}");
    }
    assert!(offered(&house, "kantctl show ''").await.contains("43 41 7 "), "or a subcommand");
    assert!(offered(&house, "kantctl cancel --").await.contains("--signal"));
    assert!(offered(&house, "kantctl can").await.contains("cancel"));
    let nobody = House::empty();
    assert_eq!(offered(&nobody, "kantctl cancel ''").await, "", "nobody answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn fish_offers_them_too() {
    let house = cluster();
    let Some(mut fish) = shell("fish", &house) else { return };
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
    house.file("a-file", "");
    let asked = lines.map(|(line, ..)| format!("echo '== {line}'; complete -C '{line}'"));
    let script = format!("source (kantctl completions fish | psub)\n{}\n", asked.join("\n"));
    let done = fish.args(["--no-config", "-c", &script]).output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    for (line, offered, others) in lines {
        let from = said.split(&format!("== {line}\n")).nth(1).unwrap_or_default();
        let told = from.split("== ").next().unwrap_or_default();
        let has = |word: &&str| told.lines().any(|line| line.starts_with(*word));
        assert!(offered.iter().all(has), "{line}: {told}");
        assert!(!others.iter().any(has), "{line}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn zsh_offers_them_too() {
    let house = cluster();
    let Some(mut zsh) = shell("zsh", &house) else { return };
    house.file("a-file", "");
    std::fs::create_dir(house.dir.path().join("functions")).unwrap();
    zsh.args(["-f", "-i"]);
    // It answers where there are several: one is put in at once, and the line goes on.
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
            // The list, and below it the line again.
            terminal.until(offered[0]);
            terminal.until("ready> kantctl");
            let told = terminal.seen[before..].to_owned();
            let has = |word: &&str| {
                told.lines()
                    .any(|line| line.starts_with(*word) || line.contains(&format!("  {word}")))
            };
            assert!(offered.iter().all(has), "{line}: {told}");
            assert!(!others.iter().any(has), "{line}: {told}");
            terminal.types("\x15\n");
            terminal.until("ready> ");
        }
    })
    .await
    .unwrap();
    drop(house);
}
