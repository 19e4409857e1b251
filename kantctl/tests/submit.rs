//! `kantctl submit` against a controller with scripted answers: the request, the output, and
//! submission during an outage of the controller.

use crate::support::{
    ReceivedRequest, TIMEOUT, TestController, completed, finish, job, jobs, json, refusal,
};
use common::resource::{GpuRequest, MemoryRequest};
use common::time::Span;
use common::unit::{Bytes, Cpus, Gpus, Nodes, Tasks};
use common::wire::api::SubmitRequest;
use serde_json::json as value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::UnixListener;

const SCRIPT: &str = "#!/bin/sh
#SBATCH --job-name=train --partition=gpu
#SBATCH -N 2 --ntasks-per-node=4 -c 2 # two CPUs each
#SBATCH --gres=gpu:h100:4 --mem=64G
#KANT --launch=per-task -t 90
echo hi
";

fn accepts() -> TestController {
    TestController::answering(|_, _| json(value!({ "job": 42 })))
}

fn submitted(request: &ReceivedRequest) -> SubmitRequest {
    serde_json::from_value(request.body.clone()).unwrap()
}

#[tokio::test]
async fn the_directives_of_a_script_are_sent() {
    let controller = accepts();
    controller.file("a.sh", SCRIPT);
    let mut command = controller.command(&["submit", "-t", "10", "a.sh", "--epochs", "3"]);
    command.env("SBATCH_TIMELIMIT", "20").env("KANTCTL_ACCOUNT", "lab").env("KEEP", "me");
    let done = finish(command.spawn().unwrap()).await;
    assert_eq!(done.good(), "Submitted job 42\n");
    assert_eq!(done.err, "");

    assert_eq!(controller.request_lines(), ["POST /v1/jobs"]);
    let SubmitRequest { request_key, ask, script, environment } =
        submitted(&controller.requests()[0]);
    assert_eq!(script, SCRIPT);
    assert_eq!(request_key.0.len(), 32);
    assert_eq!(ask.args, ["--epochs", "3"]);
    assert_eq!((ask.name.as_str(), ask.queue.unwrap().as_str()), ("train", "gpu"));
    assert_eq!(ask.account.unwrap().as_str(), "lab");
    assert_eq!(ask.time_limit, Some(Span::from_minutes(10)), "the command line wins");
    assert_eq!(ask.launch, common::job::Launch::PerTask);
    assert_eq!((ask.request.nodes, ask.request.tasks), (Some(Nodes(2)), Tasks(8)));
    assert_eq!(ask.request.cpus_per_task, Cpus(2));
    assert_eq!(ask.request.gpus, Some(GpuRequest::PerNode(Gpus(4))));
    assert_eq!(ask.request.memory, Some(MemoryRequest::PerNode(Bytes(64 << 30))));
    let here = controller.dir.path().canonicalize().unwrap();
    assert_eq!(ask.work_dir, here.to_str().unwrap());
    let command = format!("{}/a.sh --epochs 3", here.display());
    assert_eq!(ask.command, Some(command));
    assert_eq!(environment["KEEP"], "me");
    assert_eq!(environment["PWD"], here.to_str().unwrap());
    assert!(ask.rlimits.iter().any(|limit| limit.name == "nofile"));
}

#[tokio::test]
async fn the_umask_of_the_shell_is_sent() {
    let controller = accepts();
    let kantctl = env!("CARGO_BIN_EXE_kantctl");
    let mut shell = tokio::process::Command::new("/bin/sh");
    shell.arg("-c").arg(format!("umask 037; exec {kantctl} submit --wrap true"));
    shell.env("KANT_SOCKET", controller.socket()).stdin(std::process::Stdio::null());
    assert!(shell.output().await.unwrap().status.success());
    assert_eq!(submitted(&controller.requests()[0]).ask.umask, 0o037);
}

#[tokio::test]
async fn a_script_can_be_a_file_standard_input_or_a_wrapped_command() {
    let controller = accepts();
    controller.kantctl(&["submit", "--wrap", "echo \"$HOME\""]).await.good();
    controller.kantctl_reading(&["submit"], b"#!/bin/sh\n#SBATCH -n 3\ntrue\n").await.good();
    controller.kantctl_reading(&["submit", "-", "arg"], b"#!/bin/sh\ntrue\n").await.good();
    let asked: Vec<SubmitRequest> = controller.requests().iter().map(submitted).collect();
    assert!(asked[0].script.contains("\necho \"$HOME\"\n") && asked[0].ask.name == "wrap");
    assert_eq!((asked[1].ask.request.tasks, asked[1].ask.name.as_str()), (Tasks(3), "stdin"));
    assert_eq!(asked[2].ask.args, ["arg"]);
    assert!(asked.iter().all(|request| request.ask.command.is_none()), "no path was typed");
}

#[tokio::test]
async fn only_what_is_exported_is_sent() {
    let controller = accepts();
    let mut command = controller.command(&["submit", "--export=A,B=2", "--wrap", "true"]);
    command.env("A", "1").env("C", "3");
    finish(command.spawn().unwrap()).await.good();
    let environment = submitted(&controller.requests()[0]).environment;
    let names: Vec<&str> = environment.keys().map(String::as_str).collect();
    assert_eq!(names, ["A", "B", "PWD"]);
}

#[tokio::test]
async fn a_working_directory_behind_a_link_keeps_the_path_in_pwd() {
    let controller = accepts();
    let (real, link) = (controller.dir.path().join("real"), controller.dir.path().join("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    for (pwd, expected) in [(&link, &link), (&"/tmp".into(), &real.canonicalize().unwrap())] {
        let mut command = controller.command(&["submit", "--wrap", "true"]);
        finish(command.current_dir(&real).env("PWD", pwd).spawn().unwrap()).await.good();
        let ask = submitted(controller.requests().last().unwrap()).ask;
        assert_eq!(ask.work_dir, expected.to_str().unwrap());
    }
}

#[tokio::test]
async fn programs_can_get_the_id_or_the_json_answer() {
    let controller =
        TestController::answering(|_, _| json(value!({ "job": 42, "tasks": 3, "new": "field" })));
    assert_eq!(
        controller.kantctl(&["submit", "--parsable", "--wrap", "true"]).await.good(),
        "42\n"
    );
    assert_eq!(controller.kantctl(&["submit", "-Q", "--wrap", "true"]).await.good(), "");
    let done = controller.kantctl(&["submit", "--json", "--wrap", "true"]).await;
    let answer: serde_json::Value = serde_json::from_str(done.good()).unwrap();
    assert_eq!(answer, value!({ "job": 42, "tasks": 3, "new": "field" }));
}

#[tokio::test]
async fn a_submit_that_waits_exits_with_the_jobs_code() {
    let controller = TestController::answering(|request, _| {
        let failed = job("42", common::job::Phase::Done, Some(common::job::Outcome::Failed));
        match request.line.as_str() {
            "POST /v1/jobs" => json(value!({ "job": 42 })),
            _ => json(jobs(vec![failed])),
        }
    });
    let done = controller.kantctl(&["submit", "--wait", "--wrap", "exit 3"]).await;
    assert_eq!((done.code, done.out.as_str()), (Some(3), "Submitted job 42\n"));
    assert!(done.err.contains("job 42 ended: FAILED: exit code 3"), "{}", done.err);
    assert!(controller.request_lines()[1].starts_with("GET /v1/jobs/42/wait?seconds="));
}

#[tokio::test]
async fn a_refusal_is_shown_with_its_hint() {
    let controller =
        TestController::answering(|_, _| refusal(422, "queue gpu allows at most 01:00:00"));
    let done = controller.kantctl(&["submit", "--wrap", "true"]).await;
    done.refused(1, &["kantctl: queue gpu allows at most 01:00:00", "hint: try something else"]);
}

#[tokio::test]
async fn without_a_leader_a_submission_is_retried_with_the_same_key() {
    let controller = TestController::answering(|_, before| match before {
        0 | 1 => refusal(503, "no leader"),
        _ => json(value!({ "job": 42 })),
    });
    let done = controller.kantctl(&["submit", "--wrap", "true"]).await;
    assert_eq!(done.good(), "Submitted job 42\n");
    assert!(done.err.contains("trying again") && done.err.contains("answers again"));
    let keys: Vec<_> =
        controller.requests().iter().map(|a| a.body["request_key"].clone()).collect();
    assert!(keys.len() == 3 && keys.windows(2).all(|pair| pair[0] == pair[1]), "{keys:?}");
}

/// The controller dies after it has read the request and before it answers.
#[tokio::test]
async fn a_submission_survives_a_restart_of_the_controller() {
    let controller = TestController::empty();
    let dying = UnixListener::bind(controller.socket()).unwrap();
    let running =
        tokio::spawn(finish(controller.command(&["submit", "--wrap", "true"]).spawn().unwrap()));
    let (mut connection, _) = tokio::time::timeout(TIMEOUT, dying.accept()).await.unwrap().unwrap();
    let mut first = vec![0; 1 << 16];
    let mut length = 0;
    while !String::from_utf8_lossy(&first[..length]).contains("request_key") {
        length += connection.read(&mut first[length..]).await.unwrap();
    }
    drop((connection, dying));
    controller.serve(|_, _| json(value!({ "job": 42 })));
    let done = running.await.unwrap();
    assert_eq!(done.good(), "Submitted job 42\n");
    let key = submitted(&controller.requests()[0]).request_key.0;
    assert!(String::from_utf8_lossy(&first[..length]).contains(&key), "another key: {key}");
}

#[tokio::test]
async fn a_submission_survives_a_controller_that_dies_during_the_request() {
    let controller = TestController::empty();
    controller.file("large.sh", &format!("#!/bin/sh\n{}", "#\n".repeat(1 << 20)));
    let dying = UnixListener::bind(controller.socket()).unwrap();
    let running =
        tokio::spawn(finish(controller.command(&["submit", "large.sh"]).spawn().unwrap()));
    let (connection, _) = tokio::time::timeout(TIMEOUT, dying.accept()).await.unwrap().unwrap();
    connection.readable().await.unwrap();
    drop((connection, dying));
    controller.serve(|_, _| json(value!({ "job": 42 })));
    assert_eq!(running.await.unwrap().good(), "Submitted job 42\n");
}

#[tokio::test]
async fn a_submission_waits_for_a_controller_that_starts_late() {
    let controller = TestController::empty();
    let mut child = controller.command(&["submit", "--wrap", "true"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = tokio::time::timeout(TIMEOUT, lines.next_line()).await.unwrap().unwrap().unwrap();
    assert!(first.contains("failed to reach the controller"), "{first}");
    controller.serve(|_, _| json(value!({ "job": 42 })));
    assert_eq!(finish(child).await.good(), "Submitted job 42\n");
}

#[tokio::test]
async fn retries_end_with_an_error() {
    let controller = TestController::empty();
    let done = controller.kantctl(&["submit", "--retry", "1s", "--wrap", "true"]).await;
    done.refused(3, &["trying again for 1 s", "failed to reach the controller", "kant.sock"]);
    let answering = TestController::answering(|_, _| refusal(503, "no leader"));
    let done = answering.kantctl(&["submit", "--retry", "0s", "--wrap", "true"]).await;
    done.refused(3, &["no leader"]);
    assert_eq!(answering.request_lines().len(), 1);
}

#[tokio::test]
async fn an_invalid_submission_is_not_sent() {
    let controller = accepts();
    controller.file("bad.sh", "#!/bin/sh\n#SBATCH --tiem=10\n");
    controller.file("dep.sh", "#!/bin/sh\n#SBATCH -L matlab:1\n");
    controller.file("plain.txt", "echo hi\n");
    let wrap = ["--wrap", "true"];
    for (words, code, said) in [
        (vec!["-n", "-3"], 2, vec!["invalid value '-3'", "--ntasks", "whole number"]),
        (vec!["-N", "4-2"], 2, vec!["smaller one first"]),
        (vec!["-N", "2-4", "-n", "8"], 2, vec!["single number of nodes", "--ntasks=8"]),
        (vec!["--tiem", "10"], 2, vec!["--tiem", "--time"]),
        (vec!["--licenses=matlab:1"], 2, vec!["--licenses", "not supported in this release"]),
        (vec!["--dependency=expand:1"], 2, vec!["--dependency", "there is no rule `expand`"]),
        (vec!["-d", "afterok"], 2, vec!["--dependency", "write RULE:JOB"]),
        (vec!["-t", "soon"], 2, vec!["length of time"]),
        (vec!["--mem=1G", "--mem-per-cpu=1G"], 2, vec!["cannot be used with"]),
        (vec!["--gpus", "-1"], 2, vec!["number of GPUs"]),
        (vec!["--array", "9-1"], 2, vec!["is not an array"]),
        (vec!["--exclusive=user"], 2, vec!["'user'", "--exclusive"]),
        (vec!["-w", "g["], 2, vec!["list of nodes"]),
        (vec!["-p", "a b"], 2, vec!["not a valid queue name"]),
        (vec!["-t", "0"], 1, vec!["time limit is zero"]),
        (vec!["-N", "2", "-n", "1"], 1, vec!["2 nodes for 1 tasks"]),
        (vec!["-o", "%q"], 1, vec!["unknown pattern %q"]),
        (vec!["-J", "a\nb"], 1, vec!["--job-name", "line break"]),
    ] {
        let words = [&["submit"], words.as_slice(), &wrap].concat();
        controller.kantctl(&words).await.refused(code, &said);
    }
    for (script, code, said) in [
        ("bad.sh", 2, vec!["bad.sh, line 2", "--tiem", "did you mean --time?"]),
        ("dep.sh", 2, vec!["dep.sh, line 2", "-L is not supported in this release"]),
        ("plain.txt", 1, vec!["plain.txt", "#!"]),
        ("missing.sh", 1, vec!["missing.sh", "--wrap"]),
        (".", 1, vec!["is a directory"]),
    ] {
        controller.kantctl(&["submit", script]).await.refused(code, &said);
    }
    controller.kantctl_reading(&["submit"], b"").await.refused(1, &["standard input", "empty"]);
    controller
        .kantctl_reading(&["submit"], &[b'#'; 5 << 20])
        .await
        .refused(1, &["bytes, more than"]);
    controller
        .kantctl(&["submit", "--wrap", "x", "a.sh"])
        .await
        .refused(2, &["cannot be used with"]);
    let mut command = controller.command(&["submit", "--wrap", "true"]);
    command.env("SBATCH_TIMELIMIT", "soon");
    finish(command.spawn().unwrap()).await.refused(2, &["SBATCH_TIMELIMIT", "soon"]);
    assert_eq!(controller.request_lines(), Vec::<String>::new());
}

#[tokio::test]
async fn options_without_effect_are_reported() {
    let controller = accepts();
    controller.file("a.sh", "#!/bin/sh\n#SBATCH --hint=multithread\ntrue\n#SBATCH -n 2\n");
    let done = controller.kantctl(&["submit", "a.sh"]).await;
    assert_eq!(done.good(), "Submitted job 42\n");
    assert!(
        done.err.contains("--hint has no effect") && done.err.contains("line 4"),
        "{}",
        done.err
    );
}

#[tokio::test]
async fn an_invalid_answer_is_a_failure() {
    for answer in ["", "{", "[]", "{\"job\": \"x\"}", "{\"job\": -1}"] {
        let controller = TestController::answering(move |_, _| answer);
        let done = controller.kantctl(&["submit", "--retry", "0s", "--wrap", "true"]).await;
        done.refused(1, &["failed to understand"]);
    }
    let controller = TestController::answering(|_, _| json(jobs(vec![completed("1")])));
    controller.kantctl(&["submit", "--wrap", "true"]).await.refused(1, &["same version"]);
}
