//! `kantctl submit` against a controller that answers as it is told: what arrives there, what
//! users see, and that a controller's absence is not a failure.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;

use common::resource::{GpuRequest, MemoryRequest};
use common::time::Span;
use common::unit::{Bytes, Cpus, Gpus, Nodes, Tasks};
use common::wire::api::SubmitRequest;
use house::{Asked, House, PATIENCE, completed, finish, job, jobs, json, refusal};
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

fn accepts() -> House {
    House::answering(|_, _| json(value!({ "job": 42 })))
}

fn submitted(asked: &Asked) -> SubmitRequest {
    serde_json::from_value(asked.body.clone()).unwrap()
}

#[tokio::test]
async fn a_script_with_directives_arrives_as_asked() {
    let house = accepts();
    house.file("a.sh", SCRIPT);
    let mut command = house.command(&["submit", "-t", "10", "a.sh", "--epochs", "3"]);
    command.env("SBATCH_TIMELIMIT", "20").env("KANTCTL_ACCOUNT", "lab").env("KEEP", "me");
    let done = finish(command.spawn().unwrap()).await;
    assert_eq!(done.good(), "Submitted job 42\n");
    assert_eq!(done.err, "");

    assert_eq!(house.questions(), ["POST /v1/jobs"]);
    let SubmitRequest { request_key, ask, script, environment } = submitted(&house.asked()[0]);
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
    let here = house.dir.path().canonicalize().unwrap();
    assert_eq!(ask.work_dir, here.to_str().unwrap());
    let command = format!("{}/a.sh --epochs 3", here.display());
    assert_eq!(ask.command, Some(command));
    assert_eq!(environment["KEEP"], "me");
    assert_eq!(environment["PWD"], here.to_str().unwrap());
    assert!(ask.rlimits.iter().any(|limit| limit.name == "nofile"));
}

#[tokio::test]
async fn the_umask_of_the_shell_goes_along() {
    let house = accepts();
    let kantctl = env!("CARGO_BIN_EXE_kantctl");
    let mut shell = tokio::process::Command::new("/bin/sh");
    shell.arg("-c").arg(format!("umask 037; exec {kantctl} submit --wrap true"));
    shell.env("KANT_SOCKET", house.socket()).stdin(std::process::Stdio::null());
    assert!(shell.output().await.unwrap().status.success());
    assert_eq!(submitted(&house.asked()[0]).ask.umask, 0o037);
}

#[tokio::test]
async fn every_way_to_hand_over_a_script_works() {
    let house = accepts();
    house.kantctl(&["submit", "--wrap", "echo \"$HOME\""]).await.good();
    house.kantctl_reading(&["submit"], b"#!/bin/sh\n#SBATCH -n 3\ntrue\n").await.good();
    house.kantctl_reading(&["submit", "-", "arg"], b"#!/bin/sh\ntrue\n").await.good();
    let asked: Vec<SubmitRequest> = house.asked().iter().map(submitted).collect();
    assert!(asked[0].script.contains("\necho \"$HOME\"\n") && asked[0].ask.name == "wrap");
    assert_eq!((asked[1].ask.request.tasks, asked[1].ask.name.as_str()), (Tasks(3), "stdin"));
    assert_eq!(asked[2].ask.args, ["arg"]);
    assert!(asked.iter().all(|asked| asked.ask.command.is_none()), "no path was typed");
}

#[tokio::test]
async fn only_what_is_exported_is_sent() {
    let house = accepts();
    let mut command = house.command(&["submit", "--export=A,B=2", "--wrap", "true"]);
    command.env("A", "1").env("C", "3");
    finish(command.spawn().unwrap()).await.good();
    let environment = submitted(&house.asked()[0]).environment;
    let names: Vec<&str> = environment.keys().map(String::as_str).collect();
    assert_eq!(names, ["A", "B", "PWD"]);
}

#[tokio::test]
async fn a_directory_behind_a_link_keeps_the_name_its_user_knows() {
    let house = accepts();
    let (real, link) = (house.dir.path().join("real"), house.dir.path().join("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    for (pwd, expected) in [(&link, &link), (&"/tmp".into(), &real.canonicalize().unwrap())] {
        let mut command = house.command(&["submit", "--wrap", "true"]);
        finish(command.current_dir(&real).env("PWD", pwd).spawn().unwrap()).await.good();
        let ask = submitted(house.asked().last().unwrap()).ask;
        assert_eq!(ask.work_dir, expected.to_str().unwrap());
    }
}

#[tokio::test]
async fn programs_get_the_id_or_the_answer() {
    let house = House::answering(|_, _| json(value!({ "job": 42, "tasks": 3, "new": "field" })));
    assert_eq!(house.kantctl(&["submit", "--parsable", "--wrap", "true"]).await.good(), "42\n");
    assert_eq!(house.kantctl(&["submit", "-Q", "--wrap", "true"]).await.good(), "");
    let done = house.kantctl(&["submit", "--json", "--wrap", "true"]).await;
    let answer: serde_json::Value = serde_json::from_str(done.good()).unwrap();
    assert_eq!(answer, value!({ "job": 42, "tasks": 3, "new": "field" }));
}

#[tokio::test]
async fn a_submit_that_waits_exits_with_the_jobs_code() {
    let house = House::answering(|asked, _| {
        let failed = job("42", common::job::Phase::Done, Some(common::job::Outcome::Failed));
        match asked.what.as_str() {
            "POST /v1/jobs" => json(value!({ "job": 42 })),
            _ => json(jobs(vec![failed])),
        }
    });
    let done = house.kantctl(&["submit", "--wait", "--wrap", "exit 3"]).await;
    assert_eq!((done.code, done.out.as_str()), (Some(3), "Submitted job 42\n"));
    assert!(done.err.contains("job 42 ended: FAILED: exit code 3"), "{}", done.err);
    assert!(house.questions()[1].starts_with("GET /v1/jobs/42/wait?seconds="));
}

#[tokio::test]
async fn a_refusal_is_shown_with_its_hint() {
    let house = House::answering(|_, _| refusal(422, "queue gpu allows at most 01:00:00"));
    let done = house.kantctl(&["submit", "--wrap", "true"]).await;
    done.refused(1, &["kantctl: queue gpu allows at most 01:00:00", "hint: try something else"]);
}

#[tokio::test]
async fn an_absent_leader_is_asked_again_with_the_same_key() {
    let house = House::answering(|_, before| match before {
        0 | 1 => refusal(503, "no leader"),
        _ => json(value!({ "job": 42 })),
    });
    let done = house.kantctl(&["submit", "--wrap", "true"]).await;
    assert_eq!(done.good(), "Submitted job 42\n");
    assert!(done.err.contains("trying again") && done.err.contains("answers again"));
    let keys: Vec<_> = house.asked().iter().map(|a| a.body["request_key"].clone()).collect();
    assert!(keys.len() == 3 && keys.windows(2).all(|pair| pair[0] == pair[1]), "{keys:?}");
}

/// A controller that dies after it took the question, before it answered.
#[tokio::test]
async fn a_submit_survives_a_controller_that_breaks_off_and_comes_back() {
    let house = House::empty();
    let dying = UnixListener::bind(house.socket()).unwrap();
    let running =
        tokio::spawn(finish(house.command(&["submit", "--wrap", "true"]).spawn().unwrap()));
    let (mut connection, _) =
        tokio::time::timeout(PATIENCE, dying.accept()).await.unwrap().unwrap();
    let mut first = vec![0; 1 << 16];
    let mut length = 0;
    while !String::from_utf8_lossy(&first[..length]).contains("request_key") {
        length += connection.read(&mut first[length..]).await.unwrap();
    }
    drop((connection, dying));
    house.open(|_, _| json(value!({ "job": 42 })));
    let done = running.await.unwrap();
    assert_eq!(done.good(), "Submitted job 42\n");
    let key = submitted(&house.asked()[0]).request_key.0;
    assert!(String::from_utf8_lossy(&first[..length]).contains(&key), "another key: {key}");
}

#[tokio::test]
async fn a_controller_that_dies_while_it_is_written_to_does_not_take_us_along() {
    let house = House::empty();
    house.file("large.sh", &format!("#!/bin/sh\n{}", "#\n".repeat(1 << 20)));
    let dying = UnixListener::bind(house.socket()).unwrap();
    let running = tokio::spawn(finish(house.command(&["submit", "large.sh"]).spawn().unwrap()));
    let (connection, _) = tokio::time::timeout(PATIENCE, dying.accept()).await.unwrap().unwrap();
    connection.readable().await.unwrap();
    drop((connection, dying));
    house.open(|_, _| json(value!({ "job": 42 })));
    assert_eq!(running.await.unwrap().good(), "Submitted job 42\n");
}

#[tokio::test]
async fn a_submit_waits_for_a_controller_that_starts_late() {
    let house = House::empty();
    let mut child = house.command(&["submit", "--wrap", "true"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
    assert!(first.contains("failed to reach the controller"), "{first}");
    house.open(|_, _| json(value!({ "job": 42 })));
    assert_eq!(finish(child).await.good(), "Submitted job 42\n");
}

#[tokio::test]
async fn patience_ends_and_says_so() {
    let house = House::empty();
    let done = house.kantctl(&["submit", "--retry", "1s", "--wrap", "true"]).await;
    done.refused(3, &["trying again for 1 s", "failed to reach the controller", "kant.sock"]);
    let answering = House::answering(|_, _| refusal(503, "no leader"));
    let done = answering.kantctl(&["submit", "--retry", "0s", "--wrap", "true"]).await;
    done.refused(3, &["no leader"]);
    assert_eq!(answering.questions().len(), 1);
}

#[tokio::test]
async fn what_makes_no_sense_is_never_sent() {
    let house = accepts();
    house.file("bad.sh", "#!/bin/sh\n#SBATCH --tiem=10\n");
    house.file("dep.sh", "#!/bin/sh\n#SBATCH -L matlab:1\n");
    house.file("plain.txt", "echo hi\n");
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
        house.kantctl(&words).await.refused(code, &said);
    }
    for (script, code, said) in [
        ("bad.sh", 2, vec!["bad.sh, line 2", "--tiem", "did you mean --time?"]),
        ("dep.sh", 2, vec!["dep.sh, line 2", "-L is not supported in this release"]),
        ("plain.txt", 1, vec!["plain.txt", "#!"]),
        ("missing.sh", 1, vec!["missing.sh", "--wrap"]),
        (".", 1, vec!["is a directory"]),
    ] {
        house.kantctl(&["submit", script]).await.refused(code, &said);
    }
    house.kantctl_reading(&["submit"], b"").await.refused(1, &["standard input", "empty"]);
    house.kantctl_reading(&["submit"], &[b'#'; 5 << 20]).await.refused(1, &["bytes, more than"]);
    house.kantctl(&["submit", "--wrap", "x", "a.sh"]).await.refused(2, &["cannot be used with"]);
    let mut command = house.command(&["submit", "--wrap", "true"]);
    command.env("SBATCH_TIMELIMIT", "soon");
    finish(command.spawn().unwrap()).await.refused(2, &["SBATCH_TIMELIMIT", "soon"]);
    assert_eq!(house.questions(), Vec::<String>::new());
}

#[tokio::test]
async fn what_has_no_effect_is_said() {
    let house = accepts();
    house.file("a.sh", "#!/bin/sh\n#SBATCH --hint=multithread\ntrue\n#SBATCH -n 2\n");
    let done = house.kantctl(&["submit", "a.sh"]).await;
    assert_eq!(done.good(), "Submitted job 42\n");
    assert!(
        done.err.contains("--hint has no effect") && done.err.contains("line 4"),
        "{}",
        done.err
    );
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_a_failure() {
    for answer in ["", "{", "[]", "{\"job\": \"x\"}", "{\"job\": -1}"] {
        let house = House::answering(move |_, _| answer);
        let done = house.kantctl(&["submit", "--retry", "0s", "--wrap", "true"]).await;
        done.refused(1, &["failed to understand"]);
    }
    let house = House::answering(|_, _| json(jobs(vec![completed("1")])));
    house.kantctl(&["submit", "--wrap", "true"]).await.refused(1, &["same version"]);
}
