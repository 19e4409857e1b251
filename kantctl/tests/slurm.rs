//! kantctl under Slurm's names, against a controller with scripted answers: the exact output that
//! Slurm clients parse.

use crate::support::slurm_link::{slurm, slurm_with, started};
use crate::support::{NOW, TestController, finish, job, jobs, json, refusal, refused_as};
use common::job::{Outcome, Phase, Usage};
use common::resource::{Allocation, GpuRequest, Share};
use common::time::Span;
use common::unit::{Bytes, Gpus, Nodes, Tasks};
use common::wire::api::JobView;
use serde_json::json as value;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::channel;

fn running() -> JobView {
    let share = |node: &str| Share {
        tasks: Tasks(2),
        memory: Bytes::from_mib(8192),
        ..testkit::share(node, 0, 4, &[0, 1])
    };
    let mut job = job("41", Phase::Running, None);
    job.ask.name = "llama-pretrain".to_owned();
    job.ask.time_limit = Some(Span::from_minutes(120));
    job.ask.request.nodes = Some(Nodes(2));
    job.ask.request.tasks = Tasks(4);
    job.ask.request.gpus = Some(GpuRequest::PerNode(Gpus(2)));
    job.started_at = Some(NOW - Span::from_seconds(3661));
    job.submitted_at = NOW - Span::from_seconds(4000);
    job.allocation = Some(Allocation::new(vec![share("g-001"), share("g-002")]).unwrap());
    (job.cpus, job.gpus) = (common::unit::Cpus(8), Gpus(4));
    job.memory = Bytes::from_mib(16_384);
    job
}

fn failed() -> JobView {
    let mut job = job("40", Phase::Done, Some(Outcome::Failed));
    job.allocation = running().allocation;
    job.submitted_at = NOW - Span::from_seconds(200);
    job.started_at = Some(NOW - Span::from_seconds(100));
    job.usage = Some(Usage {
        cpu: Span::from_seconds(4),
        memory_peak: Bytes::from_mib(300),
        ..Usage::default()
    });
    job
}

/// A run in accounting.
fn over(job: JobView) -> serde_json::Value {
    value!({ "job": job, "run": 1, "allocated_at": NOW, "gpu_milliseconds": 7, "requeued": false })
}

fn waiting(key: &str) -> JobView {
    let mut job = job(key, Phase::Pending, None);
    job.ask.name = "sweep".to_owned();
    job
}

fn cluster() -> TestController {
    TestController::answering(|request, _| {
        if request.line.starts_with("GET /v1/status") {
            return json(value!({
                "cluster": "lab", "version": "0", "leader": true, "applied": 1,
                "jobs_pending": 0, "jobs_running": 0, "jobs_done": 0,
                "nodes_connected": 1, "nodes": 1
            }));
        }
        if request.line.starts_with("GET /v1/priority") {
            return json(value!({ "jobs": [], "as_of": NOW }));
        }
        if request.line.starts_with("GET /v1/jobs/41") {
            return json(jobs(vec![running()]));
        }
        if request.line.starts_with("GET /v1/jobs/") {
            return refused_as("unknown_job", 404, "there is no job 7");
        }
        if request.line.starts_with("GET /v1/history") {
            return json(value!({ "runs": [over(failed())], "next": null, "as_of": NOW }));
        }
        let mut all = vec![running(), waiting("42_0"), waiting("42_1"), waiting("42_3")];
        if request.line.contains("all=true") {
            all.push(failed());
        }
        json(jobs(all))
    })
}

#[tokio::test]
async fn squeue_lists_jobs_that_have_not_ended_waiting_jobs_first() {
    let controller = cluster();
    let expected = concat!(
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n",
        "        42_[0-1,3]      main    sweep      ada PD       0:00      1 (JobHeldUser)\n",
        "                41      main llama-pr      ada  R    1:01:01      2 g-[001-002]\n",
    );
    assert_eq!(slurm(&controller, &["squeue"]).await.good(), expected);
    let done = slurm(&controller, &["squeue", "-h", "-r", "-o", "%i %t|%C %b", "-t", "all"]).await;
    let expected = "42_0 PD|1 N/A\n42_1 PD|1 N/A\n42_3 PD|1 N/A\n41 R|8 gres:gpu:2\n40 F|1 N/A\n";
    assert_eq!(done.good(), expected);
    let named =
        slurm(&controller, &["squeue", "-O", "JobID:6,State:.9,TimeLeft", "-j", "41,7"]).await;
    assert_eq!(
        named.good(),
        "JOBID     STATETIME_LEFT           \n41      RUNNING58:59               \n"
    );
    let hidden = slurm(&controller, &["squeue", "-h", "-j", "41", "-t", "PD"]).await;
    assert_eq!(hidden.good(), "", "the job exists in another state");
    slurm(&controller, &["squeue", "-j", "7"]).await.refused(1, &["Invalid job id specified"]);
    let typo = slurm(&controller, &["squeue", "-t", "RUNING"]).await;
    typo.refused(1, &["Invalid job state specified: RUNING", "RUNNING"]);
    assert!(slurm(&controller, &["squeue", "--steps"]).await.good().contains(" 41.batch "));
    let folded = slurm(&controller, &["squeue", "-ho", "%K %r", "-t", "PD,F"]).await;
    assert_eq!(folded.good(), "0-1,3 JobHeldUser\nN/A NonZeroExitCode\n");
    slurm(&controller, &["squeue", "-o", "%J"]).await.refused(1, &["%J"]);
    let set = [("SQUEUE_FORMAT", "%A"), ("SQUEUE_STATES", "R")];
    assert_eq!(slurm_with(&controller, &["squeue", "-h"], &set).await.good(), "41\n");
    let typed = slurm_with(&controller, &["squeue", "-h", "-o", "%u", "-t", "R"], &set).await;
    assert_eq!(typed.good(), "ada\n");
}

#[tokio::test]
async fn sacct_shows_jobs_and_their_scripts() {
    let controller = cluster();
    let words = ["sacct", "-o", "JobID,State,NodeList", "--parsable2", "-j", "40", "-j", "42"];
    let expected = "\
JobID|State|NodeList
40|FAILED|g-[001-002]
40.batch|FAILED|g-001
42_[0-1,3]|PENDING|None assigned
";
    assert_eq!(slurm(&controller, &words).await.good(), expected);
    let words = ["sacct", "-a", "-X", "-S", "now-1hour", "--format", "jobid%-6,exitcode,elapsed"];
    let expected = "\
JobID  ExitCode    Elapsed 
------ -------- ---------- 
40          3:0   00:01:40 
41          0:0   01:01:01 
42_[0+      0:0   00:00:00 
";
    assert_eq!(slurm(&controller, &words).await.good(), expected);
    let words = ["sacct", "-j", "40.batch", "-nPo", "jobid,maxrss,totalcpu,maxvmsize"];
    assert_eq!(slurm(&controller, &words).await.good(), "40||00:00:04|\n40.batch|300M|00:00:04|\n");
    let starting = || job("43", Phase::Starting, None);
    let controller = TestController::answering(move |_, _| {
        let mut answer = jobs(vec![starting()]);
        answer["cluster"] = value!("lab");
        for (name, what) in [("version", value!("0")), ("leader", value!(true))] {
            answer[name] = what;
        }
        for name in ["applied", "jobs_pending", "jobs_running", "jobs_done", "nodes_connected"] {
            answer[name] = value!(1);
        }
        answer["nodes"] = value!(1);
        json(answer)
    });
    let words = ["sacct", "-XnPo", "state"];
    assert_eq!(slurm(&controller, &words).await.good(), "RUNNING\n", "sacct knows no CONFIGURING");
    assert_eq!(slurm(&controller, &["squeue", "-ho", "%T", "-t", "R"]).await.good(), "RUNNING\n");
    slurm(&controller, &["sacct", "-o", "nonsense"]).await.refused(1, &["nonsense", "sacct -e"]);
    slurm(&controller, &["sacct", "-S", "soon"]).await.refused(1, &["--starttime", "soon"]);
}

#[tokio::test]
async fn sacct_with_states_selects_jobs_by_their_state_in_a_time_range() {
    let controller = cluster();
    let asked = |controller: &TestController| -> Vec<String> {
        let asked = controller
            .request_lines()
            .into_iter()
            .filter(|request| request.contains("/v1/history"));
        asked.collect()
    };
    let shown = ["-aXnPo", "jobid"];
    let states = async |words: &[&str]| {
        let words = [&["sacct"][..], &shown[..], words].concat();
        slurm(&controller, &words).await.good().to_owned()
    };
    assert_eq!(states(&["-s", "RUNNING"]).await, "41\n");
    assert_eq!(states(&["-s", "FAILED"]).await, "", "no job fails at this moment");
    assert_eq!(asked(&controller), Vec::<String>::new(), "current jobs suffice");

    assert_eq!(states(&["-s", "f,CA", "-S", "now-1hour", "-E", "now"]).await, "40\n");
    let [query] = &asked(&controller)[..] else { panic!("not exactly one query") };
    assert!(query.contains("states=FAILED%2CCANCELLED"), "{query}");
    let ran = states(&["-s", "R", "-S", "now-90", "-E", "now-50"]).await;
    assert_eq!(ran, "40\n41\n", "job 40 ran in the range and has ended since");
    let query = asked(&controller).pop().unwrap();
    assert!(!query.contains("states="), "the final state does not matter: {query}");
    assert_eq!(states(&["-s", "R", "-S", "now-1week", "-E", "now-1day"]).await, "");
    assert_eq!(
        states(&["-j", "40", "-s", "F"]).await,
        "40\n",
        "a named job is looked up in all times"
    );
    let moment = slurm(&controller, &["sacct", "-a", "-s", "F", "-S", "now-1hour"]).await;
    assert!(moment.err.contains("only the state at --starttime counts"), "{}", moment.err);
    assert_eq!(states(&["-s", "RQ"]).await, "");
}

#[tokio::test]
async fn sacct_truncates_times_to_the_range() {
    let controller = cluster();
    let words = ["sacct", "-aXnPT", "-j", "40", "-S", "now-50", "-E", "now", "-o", "elapsedraw"];
    let cut = slurm(&controller, &words).await.good().trim().parse::<u32>().unwrap();
    let whole = [&words[..1], &["-aXnP"][..], &words[2..]].concat();
    let whole = slurm(&controller, &whole).await.good().trim().parse::<u32>().unwrap();
    assert!(cut <= 50 && whole == 100, "{cut} of {whole}");
}

#[tokio::test]
async fn thousands_of_jobs_are_queried_in_several_requests() {
    let controller = cluster();
    let keys: Vec<String> = (1..=2500).map(|job: u32| job.to_string()).collect();
    let words = ["sacct", "-XnPo", "jobid", "-j", &keys.join(",")];
    assert_eq!(slurm(&controller, &words).await.good(), "40\n41\n42_[0-1,3]\n");
    let asked = controller.request_lines();
    assert_eq!(asked.iter().filter(|request| request.contains("/v1/history")).count(), 3);
    let words = ["history", "42_[0-5000]", "--format", "id"];
    assert!(!controller.kantctl(&words).await.good().contains("40"), "job 40 was not requested");
    assert!(controller.request_lines().last().unwrap().ends_with("&jobs=42"));
}

#[tokio::test]
async fn scontrol_shows_a_job_in_slurms_fields() {
    let controller = cluster();
    let done = slurm(&controller, &["scontrol", "show", "job", "41"]).await;
    let text = done.good();
    for line in [
        "JobId=41 JobName=llama-pretrain\n",
        "   JobState=RUNNING Reason=None Dependency=(null)\n",
        "   RunTime=01:01:01 TimeLimit=02:00:00 TimeMin=N/A\n",
        "   NodeList=g-[001-002]\n   BatchHost=g-001\n",
        "   TRES=billing=8,cpu=8,gres/gpu=4,mem=16G,node=2\n",
        "   TresPerNode=gres:gpu:2\n",
    ] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    let one = slurm(&controller, &["scontrol", "-o", "show", "job=41"]).await;
    assert_eq!(one.good().lines().count(), 1);
    let done = slurm(&controller, &["scontrol", "show", "job", "7"]).await;
    done.refused(1, &["Invalid job id specified"]);
    let done = slurm(&controller, &["scontrol", "show", "hostnames", "g-[001-002],x"]).await;
    assert_eq!(done.good(), "g-001\ng-002\nx\n");
    let inside = [("SLURM_JOB_NODELIST", "n[1-2]")];
    let done = slurm_with(&controller, &["scontrol", "show", "hostnames"], &inside).await;
    assert_eq!(done.good(), "n1\nn2\n");
    let done = slurm(&controller, &["scontrol", "update", "JobId=41", "Colour=x"]).await;
    done.refused(1, &["colour", "TimeLimit"]);
    let done = slurm(&controller, &["scontrol", "update", "NodeName=g-001", "State=DRAIN"]).await;
    done.refused(1, &["Reason="]);
}

#[tokio::test]
async fn scontrol_shrinks_a_running_job() {
    let controller = TestController::answering(|request, _| match request.line.as_str() {
        "GET /v1/jobs/41" => json(jobs(vec![running()])),
        "GET /v1/jobs/42" => json(jobs(vec![waiting("42")])),
        _ => json(value!({ "jobs": [] })),
    });
    slurm(&controller, &["scontrol", "update", "JobId=41", "NumNodes=1"]).await.good();
    let request = controller.requests().pop().unwrap();
    assert_eq!(request.line, "POST /v1/jobs/41/resize");
    assert_eq!(request.body, value!({ "size": { "nodes": 1 } }));
    slurm(&controller, &["scontrol", "update", "JobId=42", "NumNodes=3"]).await.good();
    assert_eq!(controller.requests().pop().unwrap().line, "POST /v1/jobs/42/update");
}

#[tokio::test]
async fn sbatch_prints_what_clients_expect() {
    let controller = TestController::answering(|request, _| match request.line.as_str() {
        "POST /v1/jobs" => json(value!({ "job": 42, "tasks": 0 })),
        _ => json(value!({
            "cluster": "lab", "version": "0", "leader": true, "applied": 1,
            "jobs_pending": 0, "jobs_running": 0, "jobs_done": 0, "nodes_connected": 1, "nodes": 1
        })),
    });
    let script = controller.file("a.sh", "#!/bin/sh\n#SBATCH -n 2 --comment 'x y'\ntrue\n");
    let script: &Path = script.as_ref();
    let script = script.to_str().unwrap();
    let done = slurm(&controller, &["sbatch", script]).await;
    assert_eq!(done.good(), "Submitted batch job 42\n");
    assert_eq!(controller.requests()[0].body["ask"]["stdout"], "slurm-%j.out");
    assert_eq!(controller.requests()[0].body["ask"]["request"]["tasks"], 2);
    assert_eq!(slurm(&controller, &["sbatch", "--parsable", script]).await.good(), "42\n");
    assert_eq!(
        slurm(&controller, &["sbatch", "--parsable", "-M", "all", script]).await.good(),
        "42;lab\n"
    );
    let done =
        slurm(&controller, &["sbatch", "-a", "0-3", "-o", "x-%a", "--wrap", "hostname"]).await;
    assert_eq!(done.good(), "Submitted batch job 42\n");
    assert_eq!(controller.requests().last().unwrap().body["ask"]["stdout"], "x-%a");
    slurm(&controller, &["sbatch", "--wrap", "x", "--tiem=3"])
        .await
        .refused(1, &["sbatch:", "--time"]);
    let done = slurm(&controller, &["sbatch", "--version"]).await;
    assert!(done.good().starts_with("slurm 22.05"), "{done:?}");
}

#[tokio::test]
async fn scancel_prints_only_failures() {
    let controller = TestController::answering(|request, _| match request.line.as_str() {
        "POST /v1/jobs/40/cancel" => refused_as("already_done", 409, "job 40 has ended"),
        "POST /v1/jobs/6/cancel" => refused_as("wrong_phase", 409, "job 6 is COMPLETING"),
        "POST /v1/jobs/6/signal" => refused_as("wrong_phase", 409, "job 6 is COMPLETING"),
        "POST /v1/jobs/6/steps" => refused_as("wrong_phase", 409, "job 6 is FAILED"),
        "POST /v1/jobs/8/cancel" => refused_as("unknown_job", 404, "there is no job 8"),
        "POST /v1/jobs/7/cancel" => refusal(403, "job 7 belongs to bob"),
        what if what.starts_with("POST") => json(value!({ "jobs": [] })),
        _ => json(jobs(vec![running(), waiting("42_0")])),
    });
    assert_eq!(slurm(&controller, &["scancel", "40", "41", "42_[0-1]"]).await.good(), "");
    let done = slurm(&controller, &["scancel", "7", "41"]).await;
    done.refused(1, &["Kill job error on job id 7"]);
    assert_eq!(controller.request_lines().last().unwrap(), "POST /v1/jobs/41/cancel");
    slurm(&controller, &["scancel", "-u", "4001,1000"]).await.good();
    let last: Vec<String> = controller.request_lines().into_iter().rev().take(2).collect();
    assert_eq!(last, ["POST /v1/jobs/41/cancel", "POST /v1/jobs/42_0/cancel"]);
    // A job that has ended, is ending or is unknown is no failure; -v reports it.
    for gone in ["40", "6", "8", "6.0"] {
        let done = slurm(&controller, &["scancel", gone]).await;
        assert_eq!((done.good(), done.err.as_str()), ("", ""), "{gone}");
    }
    let done = slurm(&controller, &["scancel", "-v", "8", "6", "41"]).await;
    let expected = "scancel: error: Kill job error on job id 8: Invalid job id specified
scancel: error: Kill job error on job id 6: Job/step already completing or completed
scancel: Terminating job 41
";
    assert_eq!((done.good(), done.err.as_str()), ("", expected));
    slurm(&controller, &["scancel", "-s", "USR1", "6"]).await.refused(1, &["job id 6"]);
    slurm(&controller, &["scancel", "-s", "USR1", "6.0"]).await.refused(1, &["step id 6.0"]);
    slurm(&controller, &["scancel"]).await.refused(1, &["No job identification provided"]);
    // With a filter, only running jobs get a signal; KILL cancels the job.
    slurm(&controller, &["scancel", "-s", "USR1", "-u", "4001,1000"]).await.good();
    assert_eq!(controller.request_lines().last().unwrap(), "POST /v1/jobs/41/signal");
    slurm(&controller, &["scancel", "-s", "KILL", "41"]).await.good();
    assert_eq!(controller.request_lines().last().unwrap(), "POST /v1/jobs/41/cancel");
    slurm(&controller, &["scancel", "-s", "USR3", "41"]).await.refused(1, &["Unknown job signal"]);
}

/// Inside a job of two tasks on a node with four CPUs.
const INSIDE: [(&str, &str); 6] = [
    ("KANT_JOB_ID", "42"),
    ("KANT_NODE", "g-1"),
    ("KANT_NODE_COUNT", "1"),
    ("KANT_TASKS", "2"),
    ("KANT_NODE_CPUS", "4"),
    ("SLURM_JOB_ID", "42"),
];

#[tokio::test]
async fn srun_starts_all_tasks_and_exits_with_the_largest_code() {
    let controller = TestController::empty();
    let script = "echo $SLURM_PROCID of $SLURM_NTASKS at $MASTER_PORT; exit $SLURM_LOCALID";
    let done = slurm_with(&controller, &["srun", "-l", "sh", "-c", script], &INSIDE).await;
    let mut lines: Vec<&str> = done.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0: 0 of 2 at 24242", "1: 1 of 2 at 24242"]);
    assert_eq!(done.code, Some(1));
    assert!(done.err.contains("srun: error: g-1: task 1: Exited with exit code 1"), "{done:?}");
    let killed = slurm_with(&controller, &["srun", "-n1", "sh", "-c", "kill -9 $$"], &INSIDE).await;
    assert_eq!(killed.code, Some(137));
    let missing = slurm_with(&controller, &["srun", "no-such-program"], &INSIDE).await;
    // The exit code is the errno, as with Slurm's srun.
    missing.refused(2, &["srun:", "error: g-1: task 0: failed to start no-such-program"]);
}

#[tokio::test]
async fn srun_writes_files_by_task_and_step() {
    let controller = TestController::empty();
    let words =
        ["srun", "--unbuffered", "--output", "o_%A_%t.log", "--error", "e_%t.log", "sh", "-c"];
    let words = [&words[..], &["echo out; echo err >&2"]].concat();
    assert_eq!(slurm_with(&controller, &words, &INSIDE).await.good(), "");
    let read = |name: &str| std::fs::read_to_string(controller.dir.path().join(name)).unwrap();
    assert_eq!((read("o_42_0.log").as_str(), read("o_42_1.log").as_str()), ("out\n", "out\n"));
    assert_eq!((read("e_0.log").as_str(), read("e_1.log").as_str()), ("err\n", "err\n"));
    let words = ["srun", "-n3", "-o", "all.log", "sh", "-c", "echo a line; echo a fault >&2"];
    slurm_with(&controller, &words, &INSIDE).await.good();
    assert_eq!(read("all.log").lines().count(), 6, "one file has all lines: {}", read("all.log"));
    let words = ["srun", "-n3", "-o", "1", "sh", "-c", "echo $SLURM_PROCID"];
    assert_eq!(slurm_with(&controller, &words, &INSIDE).await.good(), "1\n");
}

#[tokio::test]
async fn srun_can_end_the_other_tasks_when_one_fails() {
    let controller = TestController::empty();
    let words = ["srun", "-K", "sh", "-c", "[ $SLURM_PROCID = 0 ] && exit 3; exec sleep 600"];
    let done = slurm_with(&controller, &words, &INSIDE).await;
    assert_eq!(done.code, Some(143), "{done:?}");
    let words = ["srun", "-W1", "sh", "-c", "[ $SLURM_PROCID = 0 ] && exit 0; exec sleep 600"];
    assert_eq!(slurm_with(&controller, &words, &INSIDE).await.code, Some(143));
    let masked = ["srun", "-n1", "grep", "SigBlk", "/proc/self/status"];
    let done = slurm_with(&controller, &masked, &INSIDE).await;
    assert_eq!(done.good(), "SigBlk:\t0000000000000000\n", "tasks have no blocked signals");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_requeues_itself_gets_the_answer_despite_sigterm() {
    let (grant, granted) = channel::<()>();
    let granted = Mutex::new(granted);
    let controller = TestController::answering(move |request, _| {
        if request.line.contains("requeue") {
            granted.lock().unwrap().recv().unwrap();
        }
        json(value!({ "jobs": [] }))
    });
    let child = started(&controller, &["scontrol", "requeue", "42"], &INSIDE).await;
    let pid = i32::try_from(child.id().unwrap()).unwrap();
    while !controller.request_lines().iter().any(|what| what.contains("requeue")) {
        tokio::task::yield_now().await;
    }
    // The requeue signals the job, and this process in it, before the answer arrives.
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGTERM).unwrap();
    grant.send(()).unwrap();
    assert_eq!(finish(child).await.good(), "");
}
