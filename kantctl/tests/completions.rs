//! What a shell offers where a job, a node or a queue is meant: those that there are. Never
//! waits for a controller that does not answer.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;

use common::job::Phase;
use house::{House, job, jobs, json};
use serde_json::json as value;

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
    let house = House::answering(|asked, _| match asked.what.split('?').next() {
        Some("GET /v1/jobs") => {
            assert!(asked.what.contains("user="), "only the own: {}", asked.what);
            let of = |key| job(key, Phase::Running, None);
            json(jobs(vec![of("7"), of("41"), of("43_0"), of("43_1")]))
        }
        Some("GET /v1/nodes") => json(value!({ "nodes": [{ "name": "g-001", "status": "idle" }] })),
        _ => json(value!({ "queues": [{ "name": "main" }] })),
    });
    for (words, expected) in [
        ("kantctl cancel ''", "43 41 7"),
        ("kantctl logs -f 4", "43 41"),
        ("kantctl cancel 41 9", ""),
        ("kantctl show node g", "g-001"),
        ("kantctl drain ''", "g-001"),
        ("kantctl show queue ''", "main"),
    ] {
        assert_eq!(offered(&house, words).await, expected, "{words}");
    }
    assert!(offered(&house, "kantctl show ''").await.contains("43 41 7 "), "or a subcommand");
    assert!(offered(&house, "kantctl cancel --").await.contains("--signal"));
    assert!(offered(&house, "kantctl can").await.contains("cancel"));
    let nobody = House::empty();
    assert_eq!(offered(&nobody, "kantctl cancel ''").await, "", "nobody answers");
}
