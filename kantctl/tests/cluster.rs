//! Nodes, queues, status, and what all verbs have in common: configuration, sockets, exit codes,
//! broken pipes, full disks and invalid answers.

use crate::support::{TestController, completed, finish, jobs, json, refusal, refused_as};
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

fn cluster() -> TestController {
    TestController::answering(|request, _| match request.line.as_str() {
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
        "POST /v1/nodes/g1/drain" | "POST /v1/nodes/g1/resume" => json(value!({ "nodes": ["g1"] })),
        "POST /v1/nodes/g2/drain" => json(value!({ "nodes": ["g2"] })),
        _ => refusal(403, "operators only"),
    })
}

#[tokio::test]
async fn the_cluster_is_shown() {
    let controller = cluster();
    let nodes = "\
NODE  STATE  CPUS  MEMORY  GPUS  KIND  JOBS  REASON
g1    idle    0/4   0B/8G     -  -        0
";
    assert_eq!(controller.kantctl(&["nodes", "g1"]).await.good(), nodes);
    let done = controller.kantctl(&["nodes", "-t", "down", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(done.good()).unwrap()["nodes"], value!([]));
    assert!(controller.kantctl(&["show", "node", "g1"]).await.good().contains("0 of 4 in use"));
    assert!(controller.kantctl(&["queues"]).await.good().contains("main*"));
    let status = controller.kantctl(&["status"]).await;
    assert!(
        status.good().contains("jobs        1 waiting, 2 running, 3 finished\n"),
        "{}",
        status.out
    );
}

#[tokio::test]
async fn nodes_are_drained_with_a_reason_and_resumed() {
    let controller = cluster();
    assert_eq!(controller.kantctl(&["drain", "g1", "-r", "bad fan"]).await.good(), "Drained g1\n");
    assert_eq!(controller.requests()[0].body, value!({ "reason": "bad fan" }));
    assert_eq!(controller.kantctl(&["resume", "g1"]).await.good(), "Resumed g1\n");
    let done = controller.kantctl(&["drain", "--json", "g[1-2]", "-r", "bad fan"]).await;
    let answer: Value = serde_json::from_str(done.good()).unwrap();
    assert_eq!(answer, value!({ "nodes": ["g1", "g2"] }));
    controller.kantctl(&["drain", "g1"]).await.refused(2, &["--reason"]);
    controller.kantctl(&["drain", "g[", "-r", "x"]).await.refused(2, &["list of nodes"]);
    controller.kantctl(&["resume", "g9"]).await.refused(1, &["operators only"]);
}

#[tokio::test]
async fn resuming_a_node_with_health_problems_warns() {
    let controller = TestController::answering(|request, _| match request.line.as_str() {
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
    let done = controller.kantctl(&["resume", "g1"]).await;
    assert_eq!(done.good(), "Resumed g1\n");
    let said = "g1 has a problem: gpu_lost: GPU 1 (GPU-1): is lost; jobs start there nevertheless";
    assert!(done.err.contains(said), "{}", done.err);
    assert!(!done.err.contains("too hot"), "a warning does not drain a node: {}", done.err);
}

#[tokio::test]
async fn an_invalid_command_line_is_exit_code_2() {
    let controller = TestController::empty();
    for words in [&["frobnicate"][..], &[], &["queue", "--frob"], &["queue", "x"], &["show"]] {
        controller.kantctl(words).await.refused(2, &["Usage: kantctl"]);
    }
    let done = controller.kantctl(&["queue", "-d"]).await;
    assert!(
        done.code == Some(2) && !done.err.contains("release"),
        "sbatch's -d is not suggested for another verb"
    );
    controller.kantctl(&["queue", "--retry", "x"]).await.refused(2, &["length of time"]);
    assert!(controller.kantctl(&["--help"]).await.good().contains("Exit codes:"));
    assert!(controller.kantctl(&["submit", "--help"]).await.good().contains("KANTCTL_QUEUE"));
    assert!(controller.kantctl(&["--version"]).await.good().starts_with("kantctl "));
}

#[tokio::test]
async fn a_usage_error_does_not_list_options_set_by_the_environment() {
    let controller = TestController::empty();
    let mut command = controller.command(&["queue", "--frob"]);
    command.env("KANT_RETRY", "5s").env("KANT_CONFIG", "k.toml");
    let done = finish(command.spawn().unwrap()).await;
    done.refused(2, &["Usage: kantctl queue [OPTIONS]"]);
    assert!(!done.err.contains("--socket") && !done.err.contains("--retry"), "{}", done.err);
}

#[tokio::test]
async fn an_empty_environment_variable_counts_as_unset() {
    let controller = cluster();
    let path = controller.file("kantctl.toml", &format!("sockets = [{:?}]\n", controller.socket()));
    let mut command = controller.command(&["queues"]);
    command.env("KANT_SOCKET", "").env("KANT_RETRY", "").env("KANT_CONFIG", path);
    finish(command.spawn().unwrap()).await.good();
    let mut command = controller.command(&["queues"]);
    command.env("KANT_CONFIG", "");
    finish(command.spawn().unwrap()).await.good();
    let mut command = controller.command(&["queues"]);
    let done = finish(command.env("KANT_RETRY", "x").spawn().unwrap()).await;
    done.refused(2, &["KANT_RETRY", "`x`", "length of time"]);
}

#[tokio::test]
async fn a_slurm_command_as_verb_is_answered_with_the_right_verb() {
    let controller = TestController::empty();
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
        controller.kantctl(words).await.refused(2, &["there is no verb `s", "hint: ", hint]);
    }
}

#[tokio::test]
async fn an_unreadable_personal_configuration_is_skipped_with_a_warning() {
    let controller = cluster();
    // Root may read every file, but a directory cannot be read as a file.
    std::fs::create_dir_all(controller.dir.path().join(".config/kant/kantctl.toml")).unwrap();
    let path = controller.dir.path().join(".config/kant/kantctl.toml");
    let mut command = controller.command(&["queues", "--retry", "0s"]);
    let done = finish(command.env_remove("KANT_SOCKET").spawn().unwrap()).await;
    assert_ne!(done.code, Some(1), "{done:?}");
    let said = format!("warning: failed to read configuration {}: ", path.display());
    assert!(done.err.contains(&said), "{}", done.err);
    let mut command = controller.command(&["queues", "--config", path.to_str().unwrap()]);
    let done = finish(command.env_remove("KANT_SOCKET").spawn().unwrap()).await;
    done.refused(1, &["failed to read configuration"]);
}

#[tokio::test]
async fn an_unreachable_controller_is_exit_code_3() {
    let controller = TestController::empty();
    for verb in ["queue", "nodes", "queues"] {
        let words = [verb, "--retry", "0s"];
        controller.kantctl(&words).await.refused(3, &["failed to reach the controller", "hint: "]);
    }
    // status asks whether a controller runs, so it does not wait for one.
    controller.kantctl(&["status"]).await.refused(3, &["failed to reach the controller", "hint: "]);
    controller.kantctl(&["cancel", "--retry", "0s", "1", "2"]).await.refused(3, &["kant.sock"]);
}

#[tokio::test]
async fn a_socket_whose_controller_has_no_leader_is_passed_over() {
    let no_leader = || refused_as("no-leader", 503, "no controller leads");
    let (cut_off, controller) = (TestController::answering(move |_, _| no_leader()), cluster());
    let sockets = format!("sockets = [{:?}, {:?}]\n", cut_off.socket(), controller.socket());
    let path = controller.file("two.toml", &sockets);
    let mut command = controller.command(&["queues", "--retry", "0s"]);
    command.env_remove("KANT_SOCKET").env("KANT_CONFIG", path);
    finish(command.spawn().unwrap()).await.good();
    assert_eq!((cut_off.requests().len(), controller.requests().len()), (1, 1));
}

#[tokio::test]
async fn sockets_are_tried_in_the_configured_order() {
    let controller = cluster();
    let missing = controller.dir.path().join("missing.sock");
    let sockets = format!("sockets = [{missing:?}, {:?}]\n", controller.socket());
    let with_config = |text: &str| {
        let path = controller.file("kantctl.toml", text);
        let mut command = controller.command(&["queues"]);
        command.env_remove("KANT_SOCKET").env("KANT_CONFIG", path);
        command
    };
    finish(with_config(&sockets).spawn().unwrap()).await.good();
    let typo = finish(with_config("\nsocket = []\n").spawn().unwrap()).await;
    typo.refused(1, &["kantctl.toml", "line 2", "socket"]);

    std::fs::create_dir_all(controller.dir.path().join(".config/kant")).unwrap();
    controller.file(".config/kant/kantctl.toml", &sockets);
    let mut command = controller.command(&["queues"]);
    finish(command.env_remove("KANT_SOCKET").spawn().unwrap()).await.good();
}

#[tokio::test]
async fn the_socket_of_the_command_line_wins() {
    let controller = cluster();
    let socket = controller.socket();
    let mut command = controller.command(&["--socket", socket.to_str().unwrap(), "queues"]);
    finish(command.env("KANT_SOCKET", "/nonexistent").spawn().unwrap()).await.good();
}

#[tokio::test]
async fn an_invalid_answer_is_an_error_and_not_a_panic() {
    for answer in ["", "{", "[]", "null", "{\"jobs\": 5}", "{\"nodes\": [{}]}", "\u{0}"] {
        let controller = TestController::answering(move |_, _| answer);
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
            controller.kantctl(words).await.refused(1, &["failed to understand"]);
        }
    }
    let controller =
        TestController::answering(|_, _| (axum::http::StatusCode::BAD_REQUEST, "<html>"));
    controller.kantctl(&["queue"]).await.refused(1, &["400", "<html>"]);
}

#[tokio::test]
async fn a_closed_pipe_ends_kantctl_without_a_message() {
    let controller = TestController::answering(|_, _| {
        json(jobs((1..20_000).map(|id| completed(&id.to_string())).collect()))
    });
    let mut child = controller.command(&["queue", "--all"]).spawn().unwrap();
    drop(child.stdout.take());
    let done = finish(child).await;
    assert_eq!((done.code, done.err.as_str()), (Some(141), ""));
}

#[tokio::test]
async fn a_full_disk_is_reported() {
    let controller = cluster();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let done =
        finish(controller.command(&["queues"]).stdout(Stdio::from(full)).spawn().unwrap()).await;
    done.refused(1, &["failed to write to standard output", "No space left"]);
}

#[tokio::test]
async fn colours_are_for_terminals_or_on_demand() {
    let controller = TestController::answering(|_, _| json(jobs(vec![completed("1")])));
    assert!(!controller.kantctl(&["queue"]).await.good().contains('\u{1b}'));
    let mut forced = controller.command(&["queue"]);
    let forced = finish(forced.env("CLICOLOR_FORCE", "1").spawn().unwrap()).await;
    assert!(forced.good().contains('\u{1b}'));
    let mut never = controller.command(&["queue"]);
    let never = finish(never.env("NO_COLOR", "1").spawn().unwrap()).await;
    assert!(!never.good().contains('\u{1b}'));
}

#[tokio::test]
async fn completions_and_manual_need_no_controller() {
    let controller = TestController::empty();
    assert!(controller.kantctl(&["completions", "bash"]).await.good().contains("kantctl"));
    assert!(controller.kantctl(&["man"]).await.good().contains(".TH kantctl 1"));
    controller.kantctl(&["man", "."]).await.good();
    assert!(controller.dir.path().join("kantctl-submit.1").exists());
    controller.kantctl(&["man", "new/pages"]).await.good();
    assert!(controller.dir.path().join("new/pages/kantctl-submit.1").exists());
    let done = controller.kantctl(&["man", "kantctl-submit.1"]).await;
    done.refused(1, &["failed to create kantctl-submit.1"]);
    controller.kantctl(&["completions", "tcsh"]).await.refused(2, &["possible values"]);
}

#[tokio::test]
async fn reserving_nodes_with_running_jobs_names_the_nodes() {
    let controller = TestController::answering(|request, _| {
        let mut busy = node("g2");
        busy["jobs"] = value!(["7", "8_3"]);
        match request.line.as_str() {
            "GET /v1/nodes" => json(value!({ "nodes": [node("g1"), busy], "as_of": 9 })),
            _ => {
                let from = if request.body["name"] == "later" { 10 } else { 9 };
                json(value!({ "reservations": [{
                    "name": "fans", "nodes": ["g1", "g2"], "from": from, "to": 7_200_000,
                    "by": "root", "maintenance": true
                }], "as_of": 9 }))
            }
        }
    });
    let create = |name| ["reservations", "create", name, "-w", "g[1-2]", "--for", "2h"];
    let done = controller.kantctl(&create("fans")).await;
    assert!(done.good().starts_with("Reserved fans"), "{}", done.out);
    assert!(done.err.contains("jobs still run on g2, and continue there"), "{}", done.err);
    let later = controller.kantctl(&create("later")).await;
    assert_eq!((later.code, later.err.as_str()), (Some(0), ""), "the reservation has not begun");
}
