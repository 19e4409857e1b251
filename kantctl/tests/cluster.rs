//! Nodes, queues, status, and what holds for every verb: configuration, sockets, exit codes,
//! broken pipes, full disks, answers that make no sense.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;

use house::{House, completed, finish, jobs, json, refusal};
use serde_json::{Value, json as value};
use std::process::Stdio;

fn node(name: &str) -> Value {
    value!({
        "name": name, "status": "idle", "contact": "Connected", "drain": null,
        "inventory": {
            "sockets": 1, "threads_per_core": 1, "cpus": "0-3", "cores": ["0", "1", "2", "3"],
            "numa": [], "memory": 8_589_934_592_u64, "gpus": [], "gpu_matrix": { "paths": [] },
            "boot_id": "b"
        },
        "cpus_used": 0, "memory_used": 0, "gpus_used": 0, "jobs": [], "address": "a",
        "version": "0.1.0"
    })
}

fn cluster() -> House {
    House::answering(|asked, _| match asked.what.as_str() {
        "GET /v1/nodes" => json(value!({ "nodes": [node("g1"), node("g2")], "as_of": 0 })),
        "GET /v1/nodes/g1" => json(value!({ "nodes": [node("g1")], "as_of": 0 })),
        "GET /v1/queues" => json(value!({ "queues": [{
            "name": "main", "default": true, "priority": 1, "nodes": [],
            "time_limit_default": null, "time_limit_max": null, "memory_per_cpu": 1_073_741_824
        }] })),
        "GET /v1/status" => json(value!({
            "cluster": "demo", "version": "0.1.0", "leader": true, "applied": 7,
            "jobs_pending": 1, "jobs_running": 2, "jobs_done": 3,
            "nodes_connected": 2, "nodes": 2
        })),
        "POST /v1/nodes/g1/drain" | "POST /v1/nodes/g1/resume" => json(value!({})),
        _ => refusal(403, "operators only"),
    })
}

#[tokio::test]
async fn the_cluster_is_shown() {
    let house = cluster();
    let nodes = "\
NODE  STATE  CPUS  MEMORY  GPUS  KIND  JOBS  REASON
g1    idle    0/4   0B/8G     -  -        0
";
    assert_eq!(house.kantctl(&["nodes", "g1"]).await.good(), nodes);
    let done = house.kantctl(&["nodes", "-t", "down", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(done.good()).unwrap()["nodes"], value!([]));
    assert!(house.kantctl(&["show", "node", "g1"]).await.good().contains("0 of 4 in use"));
    assert!(house.kantctl(&["queues"]).await.good().contains("main*"));
    let status = house.kantctl(&["status"]).await;
    assert!(
        status.good().contains("jobs        1 waiting, 2 running, 3 finished\n"),
        "{}",
        status.out
    );
}

#[tokio::test]
async fn nodes_are_drained_with_a_reason_and_resumed() {
    let house = cluster();
    assert_eq!(house.kantctl(&["drain", "g1", "-r", "bad fan"]).await.good(), "Drained g1\n");
    assert_eq!(house.asked()[0].body, value!({ "reason": "bad fan" }));
    assert_eq!(house.kantctl(&["resume", "g1"]).await.good(), "Resumed g1\n");
    house.kantctl(&["drain", "g1"]).await.refused(2, &["--reason"]);
    house.kantctl(&["drain", "g[", "-r", "x"]).await.refused(2, &["list of nodes"]);
    house.kantctl(&["resume", "g9"]).await.refused(1, &["operators only"]);
}

#[tokio::test]
async fn a_resumed_node_that_is_still_unwell_is_told_of() {
    let house = House::answering(|asked, _| match asked.what.as_str() {
        "GET /v1/nodes/g1" => {
            let mut node = node("g1");
            node["findings"] = value!([
                { "check": "gpu_lost", "says": "GPU 1 (GPU-1): is lost", "response": "drain" },
                { "check": "gpu_throttled", "says": "GPU 0: too hot", "response": "warn" }
            ]);
            json(value!({ "nodes": [node], "as_of": 0 }))
        }
        _ => json(value!({})),
    });
    let done = house.kantctl(&["resume", "g1"]).await;
    assert_eq!(done.good(), "Resumed g1\n");
    let said = "g1 has a problem: gpu_lost: GPU 1 (GPU-1): is lost; jobs start there nevertheless";
    assert!(done.err.contains(said), "{}", done.err);
    assert!(!done.err.contains("too hot"), "no reason to keep jobs off: {}", done.err);
}

#[tokio::test]
async fn a_command_line_that_makes_no_sense_is_exit_code_2() {
    let house = House::empty();
    for words in [&["frobnicate"][..], &[], &["queue", "--frob"], &["queue", "x"], &["show"]] {
        house.kantctl(words).await.refused(2, &["Usage: kantctl"]);
    }
    let done = house.kantctl(&["queue", "-d"]).await;
    assert!(
        done.code == Some(2) && !done.err.contains("release"),
        "sbatch's -d is no concern here"
    );
    house.kantctl(&["queue", "--retry", "x"]).await.refused(2, &["length of time"]);
    assert!(house.kantctl(&["--help"]).await.good().contains("Exit codes:"));
    assert!(house.kantctl(&["submit", "--help"]).await.good().contains("KANTCTL_QUEUE"));
    assert!(house.kantctl(&["--version"]).await.good().starts_with("kantctl "));
}

#[tokio::test]
async fn an_error_of_usage_does_not_ask_for_what_the_environment_gives() {
    let house = House::empty();
    let mut command = house.command(&["queue", "--frob"]);
    command.env("KANT_RETRY", "5s").env("KANT_CONFIG", "k.toml");
    let done = finish(command.spawn().unwrap()).await;
    done.refused(2, &["Usage: kantctl queue [OPTIONS]"]);
    assert!(!done.err.contains("--socket") && !done.err.contains("--retry"), "{}", done.err);
}

#[tokio::test]
async fn an_empty_environment_variable_is_as_good_as_none() {
    let house = cluster();
    let path = house.file("kantctl.toml", &format!("sockets = [{:?}]\n", house.socket()));
    let mut command = house.command(&["queues"]);
    command.env("KANT_SOCKET", "").env("KANT_RETRY", "").env("KANT_CONFIG", path);
    finish(command.spawn().unwrap()).await.good();
    let mut command = house.command(&["queues"]);
    command.env("KANT_CONFIG", "");
    finish(command.spawn().unwrap()).await.good();
    let mut command = house.command(&["queues"]);
    let done = finish(command.env("KANT_RETRY", "x").spawn().unwrap()).await;
    done.refused(2, &["KANT_RETRY", "`x`", "length of time"]);
}

#[tokio::test]
async fn slurms_commands_are_told_their_verb() {
    let house = House::empty();
    for (words, hint) in [
        (&["squeue", "-u", "ada"][..], "kantctl queue"),
        (&["sbatch", "a.sh"], "`sbatch` is `kantctl submit` here"),
        (&["scancel", "1"], "kantctl cancel"),
        (&["sinfo"], "kantctl nodes"),
        (&["srun", "-n", "2", "hostname"], "`srun` is `kantctl run` here"),
        (&["salloc"], "`salloc` is `kantctl alloc` here"),
        (&["scontrol", "show", "job", "1"], "kantctl show"),
        (&["--json", "sacct"], "kantctl history"),
    ] {
        house.kantctl(words).await.refused(2, &["there is no verb `s", "hint: ", hint]);
    }
}

#[tokio::test]
async fn a_personal_configuration_that_cannot_be_read_is_passed_over() {
    let house = cluster();
    // Root may read every file, but nobody reads a folder as one.
    std::fs::create_dir_all(house.dir.path().join(".config/kant/kantctl.toml")).unwrap();
    let path = house.dir.path().join(".config/kant/kantctl.toml");
    let mut command = house.command(&["queues", "--retry", "0s"]);
    let done = finish(command.env_remove("KANT_SOCKET").spawn().unwrap()).await;
    assert_ne!(done.code, Some(1), "{done:?}");
    let said = format!("warning: failed to read configuration {}: ", path.display());
    assert!(done.err.contains(&said), "{}", done.err);
    let mut command = house.command(&["queues", "--config", path.to_str().unwrap()]);
    let done = finish(command.env_remove("KANT_SOCKET").spawn().unwrap()).await;
    done.refused(1, &["failed to read configuration"]);
}

#[tokio::test]
async fn no_controller_is_exit_code_3() {
    let house = House::empty();
    for verb in ["queue", "nodes", "queues"] {
        let words = [verb, "--retry", "0s"];
        house.kantctl(&words).await.refused(3, &["failed to reach the controller", "hint: "]);
    }
    // Whether one is there is what this asks, so it does not wait for one.
    house.kantctl(&["status"]).await.refused(3, &["failed to reach the controller", "hint: "]);
    house.kantctl(&["cancel", "--retry", "0s", "1", "2"]).await.refused(3, &["kant.sock"]);
}

#[tokio::test]
async fn sockets_are_tried_in_the_configured_order() {
    let house = cluster();
    let missing = house.dir.path().join("missing.sock");
    let sockets = format!("sockets = [{missing:?}, {:?}]\n", house.socket());
    let with_config = |text: &str| {
        let path = house.file("kantctl.toml", text);
        let mut command = house.command(&["queues"]);
        command.env_remove("KANT_SOCKET").env("KANT_CONFIG", path);
        command
    };
    finish(with_config(&sockets).spawn().unwrap()).await.good();
    let typo = finish(with_config("\nsocket = []\n").spawn().unwrap()).await;
    typo.refused(1, &["kantctl.toml", "line 2", "socket"]);

    std::fs::create_dir_all(house.dir.path().join(".config/kant")).unwrap();
    house.file(".config/kant/kantctl.toml", &sockets);
    let mut command = house.command(&["queues"]);
    finish(command.env_remove("KANT_SOCKET").spawn().unwrap()).await.good();
}

#[tokio::test]
async fn the_command_lines_socket_wins() {
    let house = cluster();
    let socket = house.socket();
    let mut command = house.command(&["--socket", socket.to_str().unwrap(), "queues"]);
    finish(command.env("KANT_SOCKET", "/nonexistent").spawn().unwrap()).await.good();
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_no_panic() {
    for answer in ["", "{", "[]", "null", "{\"jobs\": 5}", "{\"nodes\": [{}]}", "\u{0}"] {
        let house = House::answering(move |_, _| answer);
        for words in [
            &["queue"][..],
            &["nodes"],
            &["queues"],
            &["status"],
            &["show", "job", "1"],
            &["explain", "1"],
            &["wait", "1"],
            &["logs", "1"],
        ] {
            house.kantctl(words).await.refused(1, &["failed to understand"]);
        }
    }
    let house = House::answering(|_, _| (axum::http::StatusCode::BAD_REQUEST, "<html>"));
    house.kantctl(&["queue"]).await.refused(1, &["400", "<html>"]);
}

#[tokio::test]
async fn a_reader_that_leaves_early_is_met_with_silence() {
    let house = House::answering(|_, _| {
        json(jobs((1..20_000).map(|id| completed(&id.to_string())).collect()))
    });
    let mut child = house.command(&["queue", "--all"]).spawn().unwrap();
    drop(child.stdout.take());
    let done = finish(child).await;
    assert_eq!((done.code, done.err.as_str()), (Some(141), ""));
}

#[tokio::test]
async fn a_full_disk_is_told() {
    let house = cluster();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let done = finish(house.command(&["queues"]).stdout(Stdio::from(full)).spawn().unwrap()).await;
    done.refused(1, &["failed to write to standard output", "No space left"]);
}

#[tokio::test]
async fn colours_are_for_terminals_or_on_demand() {
    let house = House::answering(|_, _| json(jobs(vec![completed("1")])));
    assert!(!house.kantctl(&["queue"]).await.good().contains('\u{1b}'));
    let mut forced = house.command(&["queue"]);
    let forced = finish(forced.env("CLICOLOR_FORCE", "1").spawn().unwrap()).await;
    assert!(forced.good().contains('\u{1b}'));
    let mut never = house.command(&["queue"]);
    let never = finish(never.env("NO_COLOR", "1").spawn().unwrap()).await;
    assert!(!never.good().contains('\u{1b}'));
}

#[tokio::test]
async fn completions_and_manual_need_no_controller() {
    let house = House::empty();
    assert!(house.kantctl(&["completions", "bash"]).await.good().contains("kantctl"));
    assert!(house.kantctl(&["man"]).await.good().contains(".TH kantctl 1"));
    house.kantctl(&["man", "."]).await.good();
    assert!(house.dir.path().join("kantctl-submit.1").exists());
    house.kantctl(&["man", "missing"]).await.refused(1, &["manual pages into missing"]);
    house.kantctl(&["completions", "tcsh"]).await.refused(2, &["possible values"]);
}

#[tokio::test]
async fn who_books_nodes_that_run_jobs_is_told_of_them() {
    let house = House::answering(|asked, _| {
        let mut busy = node("g2");
        busy["jobs"] = value!(["7", "8_3"]);
        match asked.what.as_str() {
            "GET /v1/nodes" => json(value!({ "nodes": [node("g1"), busy], "as_of": 9 })),
            _ => {
                let from = if asked.body["name"] == "later" { 10 } else { 9 };
                json(value!({ "reservations": [{
                    "name": "fans", "nodes": ["g1", "g2"], "from": from, "to": 7_200_000,
                    "by": "root", "maintenance": true
                }], "as_of": 9 }))
            }
        }
    });
    let create = |name| ["reservations", "create", name, "-w", "g[1-2]", "--for", "2h"];
    let done = house.kantctl(&create("fans")).await;
    assert!(done.good().starts_with("Reserved fans"), "{}", done.out);
    assert!(done.err.contains("jobs still run on g2, and continue there"), "{}", done.err);
    let later = house.kantctl(&create("later")).await;
    assert_eq!((later.code, later.err.as_str()), (Some(0), ""), "it has not begun");
}
